import 'reflect-metadata';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { HttpModule, HttpService } from '@nestjs/axios';
import { Test } from '@nestjs/testing';
import type { AxiosError, AxiosInstance, InternalAxiosRequestConfig } from 'axios';
import axios from 'axios';
import { firstValueFrom, timeout } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { MonotonicClock } from '../../lib/memory/monotonic-clock.js';
import type { OutboundOptions } from '../../lib/nest/outbound-options.js';
import type { Outbound } from '../../lib/nest/outbound.js';
import type { LimitAxiosOptions } from '../../lib/outbound/axios.js';
import { limitAxios } from '../../lib/outbound/axios.js';
import { until } from '../redis/until.mjs';
import { HttpSite } from '../support/http-site.js';
import { outboundSide } from '../support/outbound-side.js';
import { freePort } from '../support/redis-servers.js';
import { readRecorded } from './recorded-response.js';

const HOME = '127.0.0.1';
const ELSEWHERE = '127.0.0.2';
const ONE_AT_A_TIME = { requestsPerSecond: 1_000, burstCapacity: 1_000, maxConcurrent: 1 };
/** Whoever comes second waits longer than a test may take. */
const SLOW = { requestsPerSecond: 0.02, burstCapacity: 1 };

let site: HttpSite;
let outbound: Outbound;
let client: AxiosInstance;
let stop: () => void;

beforeEach(async () => {
  site = await HttpSite.start();
  client = axios.create({ proxy: false });
  outbound = outboundSide();
  stop = limitAxios(client, outbound.limiter, outbound.throttler);
});

afterEach(async () => {
  outbound.onApplicationShutdown();
  await HttpSite.closeAll();
});

/** Limits by other rules. */
function configure(options: OutboundOptions, own: LimitAxiosOptions = {}): void {
  stop();
  outbound = outboundSide(options);
  stop = limitAxios(client, outbound.limiter, outbound.throttler, own);
}

const blocks = (domain = HOME) => outbound.throttler.stats(domain).blocksByType;
const state = (domain = HOME) => outbound.throttler.state(domain);
const requests = (domain = HOME) => outbound.limiter.getStats(domain).totalRequests;

/** Answers every request in the same way. */
function answer(status: number, headers: Record<string, string> = {}, body = ''): void {
  site.answering = (response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
}

function fallSilent(): void {
  site.answering = () => undefined;
}

describe('axios', () => {
  it('gets what came back, as before', async () => {
    expect(await client.get(site.url('/items'), { params: { page: 2 } })).toMatchObject({
      status: 200,
      data: { ok: true },
      config: { url: site.url('/items'), params: { page: 2 }, method: 'get' },
    });
    expect(site.received).toMatchObject([{ method: 'GET', path: '/items?page=2' }]);
    expect(requests()).toBe(1);
  });

  it('waits for its turn, by the domain of the URL', async () => {
    configure({ default: { requestsPerSecond: 10, burstCapacity: 1 } });
    const startedMs = performance.now();
    await Promise.all([client.get(site.url()), client.get(site.url()), client.get(site.url())]);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(199);
    expect(await outbound.limiter.allow(ELSEWHERE)).toMatchObject({ allowed: true });
  });

  it.each([
    [{ baseURL: 'http://one.example/api', url: '/items' }, 'one.example'],
    [{ baseURL: 'http://one.example/api/', url: 'items' }, 'one.example'],
    [{ baseURL: 'http://one.example/api', url: 'http://two.example/items' }, 'two.example'],
    [{ baseURL: 'http://one.example:8080', url: '' }, 'one.example'],
    [{ url: 'HTTP://User:secret@Three.Example/items' }, 'three.example'],
    [
      {
        ...{ baseURL: 'http://one.example', url: 'http://two.example/items' },
        allowAbsoluteUrls: false,
      },
      'one.example',
    ],
  ])('is limited by the domain that axios makes of %j', async (config, domain) => {
    const adapter = (request: InternalAxiosRequestConfig) =>
      Promise.resolve({ status: 200, statusText: '', headers: {}, data: 'ok', config: request });
    await client.request({ ...config, adapter });
    expect(Object.keys(outbound.limiter.getAllStats())).toEqual([domain]);
  });

  it.each([{ url: '/items' }, {}, { baseURL: '/api', url: 'items' }])(
    'says what to write instead of %j',
    async (config) => {
      await expect(client.request(config)).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('Expected `url` to be a whole URL'),
      });
    },
  );

  it('sends what it would have sent', async () => {
    const common = { 'x-common': 'yes' };
    client = axios.create({ proxy: false, headers: { common, post: { 'x-post': 'yes' } } });
    configure({});
    client.interceptors.request.use((config) => {
      delete config.headers['x-common'];
      return config;
    });
    const form = new FormData();
    form.set('name', 'value');
    await client.post(site.url('/json'), { a: 1 }, { headers: { 'x-own': 'yes' } });
    await client.put(site.url('/text'), 'text', { auth: { username: 'me', password: 'pw' } });
    await client.post(site.url('/query'), new URLSearchParams({ a: '1' }));
    await client.post(site.url('/form'), form);
    await client.patch(site.url('/buffer'), Buffer.from('bytes'));
    const [json, plain, query, multipart, buffer] = site.received;
    expect(json).toMatchObject({
      ...{ method: 'POST', path: '/json', body: '{"a":1}' },
      headers: { 'content-type': 'application/json', 'x-own': 'yes', 'x-post': 'yes' },
    });
    // An interceptor has taken it out; nothing brings it back.
    expect(json!.headers['x-common']).toBeUndefined();
    expect(plain).toMatchObject({ body: 'text', headers: { authorization: 'Basic bWU6cHc=' } });
    expect(query).toMatchObject({
      body: 'a=1',
      headers: { 'content-type': expect.stringContaining('application/x-www-form-urlencoded') },
    });
    expect(multipart!.body).toContain('name="name"\r\n\r\nvalue');
    expect(buffer!.body).toBe('bytes');
  });

  it('transforms data once, there and back', async () => {
    const { data } = await client.post<string>(site.url(), 'data', {
      transformRequest: [(sent: string) => `<${sent}>`],
      transformResponse: [(received: string) => `[${received}]`],
    });
    expect(site.received[0]!.body).toBe('<data>');
    expect(data).toBe('[{"ok":true}]');
  });

  it('gives streams and bytes as they were asked for', async () => {
    answer(200, { 'content-type': 'text/html' }, '<p>page</p>');
    const stream = await client.get<Readable>(site.url(), { responseType: 'stream' });
    expect(await text(stream.data)).toBe('<p>page</p>');
    const bytes = await client.get<Buffer>(site.url(), { responseType: 'arraybuffer' });
    expect(Buffer.from(bytes.data).toString()).toBe('<p>page</p>');
    expect(blocks()).toEqual({});
  });

  it.each(['http', 'fetch', ['fetch', 'http']])('works with the adapter %j', async (adapter) => {
    const response = await client.get<unknown>(site.url(), { adapter });
    expect(response.data).toEqual({ ok: true });
    expect(response.request instanceof Request).toBe(adapter !== 'http');
    answer(429, { 'retry-after': '60' });
    await expect(client.get(site.url(), { adapter })).rejects.toMatchObject({
      response: { status: 429 },
      config: { url: site.url() },
    });
    expect(blocks()).toEqual({ '429_rate_limited': 1 });
    expect(await state()).toMatchObject({ status: 'cooling' });
  });

  it('shows others the request as it was', async () => {
    const transformResponse = [(data: string) => data];
    const { config } = await client.get(site.url(), { transformResponse });
    answer(404);
    const error = await client.get(site.url(), { transformResponse }).catch((e: AxiosError) => e);
    const failure = error as AxiosError;
    for (const seen of [config, failure.config, failure.response!.config]) {
      expect(seen!.transformResponse).toEqual(transformResponse);
    }
  });

  it('leaves an adapter of your own alone', async () => {
    const transformResponse = [(data: string) => data];
    const seen: InternalAxiosRequestConfig[] = [];
    const reply = { status: 403, statusText: '', data: 'ok', headers: undefined as never };
    const adapter = (config: InternalAxiosRequestConfig) => {
      seen.push(config);
      return Promise.resolve({ ...reply, config: { ...config, headers: config.headers } });
    };
    const { config } = await client.get(site.url(), { adapter, transformResponse });
    expect(seen[0]!.transformResponse).toEqual(transformResponse);
    expect(config).not.toBe(seen[0]);
    expect(blocks()).toEqual({ '403_forbidden': 1 });
  });

  it('fails as before, with the request and the response', async () => {
    answer(404, { 'content-type': 'application/json' }, '{"why":"gone"}');
    const failing = client.get(site.url('/items'));
    await expect(failing).rejects.toMatchObject({
      name: 'AxiosError',
      code: 'ERR_BAD_REQUEST',
      config: { url: site.url('/items') },
      response: { status: 404, data: { why: 'gone' }, config: { url: site.url('/items') } },
    });
    await expect(client.get(site.url(), { validateStatus: null })).resolves.toMatchObject({
      status: 404,
    });
  });

  it('is as it was when the limit is taken away', async () => {
    await client.get(site.url());
    stop();
    await client.get(site.url());
    stop();
    expect(requests()).toBe(1);
    expect(site.received).toHaveLength(2);
  });

  it('waits once when it is limited twice, and when it is tried again', async () => {
    limitAxios(client, outbound.limiter, outbound.throttler);
    answer(500);
    const { config } = await client.get(site.url()).catch((error: AxiosError) => error);
    expect(requests()).toBe(1);
    answer(200, {}, 'ok');
    expect((await client.request(config!)).status).toBe(200);
    expect(requests()).toBe(2);
  });

  it('can be limited as a whole', async () => {
    const stopAll = limitAxios(axios, outbound.limiter, outbound.throttler);
    await axios.get(site.url(), { proxy: false });
    stopAll();
    expect(requests()).toBe(1);
  });

  it.each([undefined, null, {}, 'axios', { axiosRef: {} }, () => undefined])(
    'has to be what is limited, not %p',
    (target) => {
      const limiting = () =>
        limitAxios(target as AxiosInstance, outbound.limiter, outbound.throttler);
      expect(limiting).toThrow(
        'Expected `target` to be an axios instance, or the HttpService of @nestjs/axios, got ',
      );
    },
  );
});

describe('waiting by axios', () => {
  it('is bounded by the limiter, not by the timeout of the request', async () => {
    configure({ default: { requestsPerSecond: 1, burstCapacity: 1 } });
    await client.get(site.url());
    const { status } = await client.get(site.url(), { timeout: 800 });
    expect(status).toBe(200);
  });

  it('fails at once when the turn would come too late', async () => {
    configure({ default: SLOW }, { timeoutMs: 1_000 });
    await client.get(site.url());
    await expect(client.get(site.url())).rejects.toMatchObject({ code: 'WAIT_TIMED_OUT' });
    expect(site.received).toHaveLength(1);
  });

  it('is ended by the signal, as axios ends a call', async () => {
    configure({ default: SLOW });
    await client.get(site.url());
    const aborting = new AbortController();
    const calling = client.get(site.url(), { signal: aborting.signal });
    await until('the wait', () => outbound.limiter.waiting(HOME).count === 1);
    aborting.abort();
    const error: unknown = await calling.catch((reason: unknown) => reason);
    expect(axios.isCancel(error)).toBe(true);
    expect(outbound.limiter.waiting(HOME).count).toBe(0);
    expect(site.received).toHaveLength(1);
    expect(blocks()).toEqual({});
  });

  it('is ended by a cancel token', async () => {
    configure({ default: SLOW });
    await client.get(site.url());
    const { token, cancel } = axios.CancelToken.source();
    const { signal } = new AbortController();
    const calling = client.get(site.url(), { cancelToken: token, signal });
    await until('the wait', () => outbound.limiter.waiting(HOME).count === 1);
    cancel('enough');
    const error: unknown = await calling.catch((reason: unknown) => reason);
    expect(axios.isCancel(error)).toBe(true);
    expect(outbound.limiter.waiting(HOME).count).toBe(0);
  });

  it('leaves nothing behind on a token that is used for many calls', async () => {
    const { token, cancel } = axios.CancelToken.source();
    for (let i = 0; i < 3; i++) await client.get(site.url(), { cancelToken: token });
    const { _listeners: listeners } = token as unknown as { _listeners: unknown[] };
    expect(listeners).toEqual([]);
    cancel('late');
    expect(requests()).toBe(3);
  });
});

describe('what came back by axios', () => {
  it.each([
    ['api-429', '429_rate_limited'],
    ['blank-200', 'blank_page'],
    ['cloudflare-managed-challenge', 'cloudflare_challenge'],
    ['hcaptcha-wall-403', 'captcha'],
    ['json-200', undefined],
    ['login-with-recaptcha', undefined],
    ['maintenance-503', 'unavailable'],
    ['nginx-403', '403_forbidden'],
    ['no-content', undefined],
    ['turnstile-interstitial', 'cloudflare_challenge'],
  ])('is told: %s is %s', async (name, type) => {
    const { status, headers, body } = readRecorded(name);
    headers.delete('content-length');
    headers.delete('transfer-encoding');
    site.answering = (response) => {
      response.writeHead(status, [...headers].flat());
      response.end(body, 'latin1');
    };
    for (const responseType of ['text', 'arraybuffer', 'json'] as const) {
      configure({});
      const response = await client.get(site.url(), { responseType, validateStatus: () => true });
      expect(response.status).toBe(status);
      expect(blocks()).toEqual(type === undefined ? {} : { [type]: 1 });
    }
    configure({});
    await client.get(site.url()).catch(() => undefined);
    expect(blocks()).toEqual(type === undefined ? {} : { [type]: 1 });
  });

  it.each(['http', 'fetch'])('is told from bytes by the adapter %s', async (adapter) => {
    const page = readRecorded('turnstile-interstitial').body;
    answer(200, { 'content-type': 'text/html' }, page);
    await client.get(site.url(), { adapter, responseType: 'arraybuffer' });
    expect(blocks()).toEqual({ cloudflare_challenge: 1 });
  });

  it('is nothing when nothing was asked for', async () => {
    answer(200, { 'content-type': 'text/html' });
    await client.head(site.url());
    await client.post(site.url(), {});
    expect(blocks()).toEqual({});
    await client.get(site.url());
    expect(blocks()).toEqual({ blank_page: 1 });
  });

  it('pauses everybody when it asks to', async () => {
    answer(503, { 'retry-after': '0.4' });
    const startedMs = performance.now();
    await expect(client.get(site.url())).rejects.toMatchObject({ response: { status: 503 } });
    answer(200, {}, 'ok');
    await Promise.all([client.get(site.url()), client.get(site.url())]);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(399);
    expect(blocks()).toEqual({ unavailable: 1 });
    expect(await state()).toMatchObject({ status: 'normal', consecutiveBlocks: 0 });
  });

  it('pauses when nothing is left, if that shall be heeded', async () => {
    const empty = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' };
    answer(200, empty, 'ok');
    await client.get(site.url());
    expect(await state()).toMatchObject({ status: 'normal' });
    configure({}, { heedUpstreamLimits: true });
    await client.get(site.url());
    expect(await state()).toMatchObject({ status: 'cooling' });
  });

  it('is told by classifiers of your own', async () => {
    configure(
      {},
      { classifiers: [({ body }) => (body?.includes('"ok"') ? 'soft_ban' : undefined)] },
    );
    await client.get(site.url());
    expect(blocks()).toEqual({ soft_ban: 1 });
  });

  it('counts for the domain that was asked, wherever a redirect led', async () => {
    site.answering = (response, { path }) => {
      if (path === '/there') response.writeHead(429, { 'retry-after': '60' });
      else response.writeHead(302, { location: site.url('/there', ELSEWHERE) });
      response.end();
    };
    await expect(client.get(site.url())).rejects.toMatchObject({ response: { status: 429 } });
    expect(await state(HOME)).toMatchObject({ status: 'cooling' });
    expect(await state(ELSEWHERE)).toMatchObject({ status: 'normal' });
  });

  it('may be nothing: a lost connection is counted', async () => {
    const nobody = `http://${HOME}:${await freePort()}/`;
    await expect(client.get(nobody)).rejects.toMatchObject({
      code: 'ECONNREFUSED',
      config: { url: nobody },
    });
    expect(blocks()).toEqual({ connection_error: 1 });
  });

  it('may be nothing: a timeout is counted', async () => {
    fallSilent();
    await expect(client.get(site.url(), { timeout: 100 })).rejects.toMatchObject({
      code: 'ECONNABORTED',
    });
    expect(blocks()).toEqual({ timeout: 1 });
  });

  it('may be nothing: what was called off is not counted', async () => {
    fallSilent();
    const aborting = new AbortController();
    const calling = client.get(site.url(), { signal: aborting.signal });
    await until('the request', () => site.received.length === 1);
    aborting.abort();
    const error: unknown = await calling.catch((reason: unknown) => reason);
    expect(axios.isCancel(error)).toBe(true);
    expect(blocks()).toEqual({});
  });
});

describe('the slot of a call by axios', () => {
  const ENDINGS: Record<string, () => Promise<unknown>> = {
    'a good answer': () => client.get(site.url()),
    'a bad status': () => {
      answer(500);
      return client.get(site.url());
    },
    'a block': () => {
      answer(403);
      return client.get(site.url());
    },
    'a refused connection': async () => client.get(`http://${HOME}:${await freePort()}/`),
    'a timeout': () => {
      fallSilent();
      return client.get(site.url(), { timeout: 50 });
    },
    'a call that was called off': async () => {
      fallSilent();
      const aborting = new AbortController();
      const calling = client.get(site.url(), { signal: aborting.signal });
      await until('the request', () => site.received.length === 1);
      aborting.abort();
      return calling;
    },
    'an unread stream': () => client.get(site.url(), { responseType: 'stream' }),
    'an adapter that throws': () => {
      const adapter = () => {
        throw new Error('broken at once');
      };
      return client.get(site.url(), { adapter });
    },
    'an unknown adapter': () => client.get(site.url(), { adapter: 'nobody' as 'http' }),
    'a transform that throws, of the request': () =>
      client.post(site.url(), 'x', { transformRequest: [fail] }),
    'a transform that throws, of the response': () =>
      client.get(site.url(), { transformResponse: [fail] }),
    'an interceptor that throws before': () => {
      const id = client.interceptors.request.use(fail);
      return client.get(site.url()).finally(() => client.interceptors.request.eject(id));
    },
    'an interceptor that throws after': () => {
      const id = client.interceptors.response.use(fail);
      return client.get(site.url()).finally(() => client.interceptors.response.eject(id));
    },
  };

  function fail(): never {
    throw new Error('broken');
  }

  it.each(Object.keys(ENDINGS))('is free after %s', async (ending) => {
    configure({ default: ONE_AT_A_TIME });
    await ENDINGS[ending]!().catch(() => undefined);
    answer(200, {}, 'ok');
    const { waitedMs } = await outbound.limiter.wait(HOME, { timeoutMs: 5_000 });
    expect(waitedMs).toBeLessThan(5_000);
  });

  it.each(['before', 'after'])('is free when an interceptor that came %s throws', async (when) => {
    stop();
    const own = axios.create({ proxy: false });
    outbound = outboundSide({ default: ONE_AT_A_TIME });
    if (when === 'before') own.interceptors.request.use(fail);
    limitAxios(own, outbound.limiter, outbound.throttler);
    if (when === 'after') own.interceptors.request.use(fail);
    await expect(own.get(site.url())).rejects.toThrow('broken');
    expect((await outbound.limiter.wait(HOME, { timeoutMs: 5_000 })).domain).toBe(HOME);
  });

  it('is held while the call is under way, and given back once', async () => {
    let given = 0;
    class CountingStore extends MemoryStore {
      override giveBack(returned: Parameters<MemoryStore['giveBack']>[0]): boolean {
        given++;
        return super.giveBack(returned);
      }
    }
    stop();
    outbound = outboundSide({ default: ONE_AT_A_TIME }, new CountingStore(new MonotonicClock()));
    limitAxios(client, outbound.limiter, outbound.throttler);
    const held: ServerResponse[] = [];
    site.answering = (response) => held.push(response);
    const [first, second] = [client.get(site.url()), client.get(site.url())];
    await until('the first', () => held.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(held).toHaveLength(1);
    expect(given).toBe(0);
    held[0]!.end('ok');
    await first;
    await until('the second', () => held.length === 2);
    held[1]!.end('ok');
    await second;
    expect(given).toBe(2);
  });

  it('given back in vain, or a report that fails, costs nobody a response', async () => {
    class FailingStore extends MemoryStore {
      override changeGate(): never {
        throw new Error('the store is gone');
      }

      override giveBack(): never {
        throw new Error('the store is gone');
      }
    }
    stop();
    outbound = outboundSide({ default: ONE_AT_A_TIME }, new FailingStore(new MonotonicClock()));
    limitAxios(client, outbound.limiter, outbound.throttler);
    answer(403, {}, 'no');
    await expect(client.get(site.url())).rejects.toMatchObject({ response: { status: 403 } });
  });
});

describe('the HttpService of Nest', () => {
  let http: HttpService;

  beforeEach(async () => {
    const imports = [HttpModule.register({ proxy: false, baseURL: site.url('/api') })];
    const module = await Test.createTestingModule({ imports }).compile();
    http = module.get(HttpService);
    stop = limitAxios(http, outbound.limiter, outbound.throttler);
  });

  it('waits, and tells what came of it', async () => {
    const { data } = await firstValueFrom(http.get<unknown>('items'));
    expect(data).toEqual({ ok: true });
    expect(site.received).toMatchObject([{ path: '/api/items' }]);
    answer(429, { 'retry-after': '60' });
    await expect(firstValueFrom(http.post('items', {}))).rejects.toMatchObject({
      response: { status: 429 },
    });
    expect(requests()).toBe(2);
    expect(await state()).toMatchObject({ status: 'cooling', consecutiveBlocks: 1 });
    stop();
    await expect(firstValueFrom(http.get('items'))).rejects.toMatchObject({
      response: { status: 429 },
    });
    expect(requests()).toBe(2);
  });

  it('stops waiting when nobody is subscribed any more', async () => {
    stop();
    outbound = outboundSide({ default: SLOW });
    limitAxios(http, outbound.limiter, outbound.throttler);
    await firstValueFrom(http.get('items'));
    const late = firstValueFrom(http.get('items').pipe(timeout(1_000)));
    await until('the wait', () => outbound.limiter.waiting(HOME).count === 1);
    await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
    await until('the wait to end', () => outbound.limiter.waiting(HOME).count === 0);
    expect(site.received).toHaveLength(1);
  });
});
