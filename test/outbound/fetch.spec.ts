import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { MonotonicClock } from '../../lib/memory/monotonic-clock.js';
import type { OutboundOptions } from '../../lib/nest/outbound-options.js';
import type { Outbound } from '../../lib/nest/outbound.js';
import { InvalidDomainError } from '../../lib/outbound/domain-name.js';
import { WaitAbortedError, WaitTimedOutError } from '../../lib/outbound/outbound-errors.js';
import type { WaitOptions } from '../../lib/outbound/wait-options.js';
import { until } from '../redis/until.mjs';
import { freePort } from '../support/redis-servers.js';
import { HttpSite } from '../support/http-site.js';
import { outboundSide } from '../support/outbound-side.js';
import { readRecorded } from './recorded-response.js';

/** The domain that sites are called by, unless a test says otherwise. */
const HOME = '127.0.0.1';
/** Requests from different addresses of the same machine are for different domains. */
const ELSEWHERE = '127.0.0.2';

let site: HttpSite;
let outbound: Outbound;

beforeEach(async () => {
  site = await HttpSite.start();
  outbound = outboundSide();
});

afterEach(async () => {
  outbound.onApplicationShutdown();
  await HttpSite.closeAll();
});

function configure(options: OutboundOptions): void {
  outbound = outboundSide(options);
}

function fetch(input: string | URL | Request = site.url(), init: RequestInit & WaitOptions = {}) {
  return outbound.limiter.fetch(input, init);
}

const blocks = (domain = HOME) => outbound.throttler.stats(domain).blocksByType;
const state = (domain = HOME) => outbound.throttler.state(domain);

/** Answers every request in the same way. */
function answer(status: number, headers: Record<string, string> = {}, body = ''): void {
  site.answering = (response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
}

function answerRecorded(name: string): void {
  const { status, headers, body } = readRecorded(name);
  headers.delete('content-length');
  headers.delete('transfer-encoding');
  site.answering = (response) => {
    response.writeHead(status, [...headers].flat());
    response.end(body, 'latin1');
  };
}

/** Never answers. */
function fallSilent(): void {
  site.answering = () => undefined;
}

describe('fetching', () => {
  it('hands over what came back', async () => {
    const response = await fetch();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true });
    expect(outbound.limiter.getStats(HOME)).toMatchObject({ totalRequests: 1 });
  });

  it('waits for its turn, by the domain of the URL', async () => {
    const startedMs: number[] = [];
    configure({
      default: { requestsPerSecond: 10, burstCapacity: 1 },
      fetch: (...args) => {
        startedMs.push(performance.now());
        return globalThis.fetch(...args);
      },
    });
    const beganMs = performance.now();
    await Promise.all([fetch(), fetch(site.url('/other')), fetch(new URL(site.url('/third')))]);
    // From the beginning: one that goes late on a busy machine does not hold up the next.
    const [, second, third] = startedMs.map((atMs) => atMs - beganMs);
    expect(second).toBeGreaterThanOrEqual(99);
    expect(third).toBeGreaterThanOrEqual(199);
    expect(await outbound.limiter.allow(ELSEWHERE)).toMatchObject({ allowed: true });
    expect((await fetch(site.url('/', ELSEWHERE), { timeoutMs: 1_000 })).status).toBe(200);
    expect(Object.keys(outbound.limiter.getAllStats()).sort()).toEqual([HOME, ELSEWHERE]);
  });

  it('knows addresses of IPv6 and names in any case', async () => {
    await fetch(site.url('/', '[::1]'));
    await fetch(site.url('/', 'LOCALHOST'));
    expect(Object.keys(outbound.limiter.getAllStats()).sort()).toEqual(['::1', 'localhost']);
  });

  it('takes a Request, with its method, headers and body', async () => {
    const request = new Request(site.url('/items'), {
      method: 'POST',
      headers: { 'x-task': '7' },
      body: 'hello',
    });
    expect((await fetch(request)).status).toBe(200);
    expect(site.received).toMatchObject([
      { method: 'POST', path: '/items', body: 'hello', headers: { 'x-task': '7' } },
    ]);
  });

  it('takes a Request of another copy of fetch', async () => {
    const seen: unknown[] = [];
    configure({
      fetch: (input) => {
        seen.push(input);
        return Promise.resolve(new Response('{}', { headers: { 'content-type': 'text/plain' } }));
      },
    });
    const foreign = { url: 'https://api.example.com/items', method: 'PUT' } as Request;
    await fetch(foreign);
    expect(seen).toEqual([foreign]);
    expect(outbound.limiter.getStats('api.example.com').totalRequests).toBe(1);
  });

  it('sends bodies of any kind', async () => {
    const form = new FormData();
    form.set('name', 'value');
    await fetch(site.url('/text'), { method: 'POST', body: 'text' });
    await fetch(site.url('/query'), { method: 'PUT', body: new URLSearchParams({ a: '1' }) });
    await fetch(site.url('/form'), { method: 'POST', body: form });
    const stream = new Blob(['streamed']).stream();
    const streaming = { method: 'POST', body: stream, duplex: 'half' } as RequestInit;
    await fetch(site.url('/stream'), streaming);
    const [text, query, multipart, streamed] = site.received;
    expect([text!.body, query!.body, streamed!.body]).toEqual(['text', 'a=1', 'streamed']);
    expect(multipart!.body).toContain('name="name"\r\n\r\nvalue');
  });

  it('keeps what is meant for the limiter to itself', async () => {
    const seen: unknown[] = [];
    configure({
      default: { requestsPerSecond: 0.06, burstCapacity: 3 },
      fetch: (_input, init) => {
        seen.push(init);
        return Promise.resolve(Response.json({}));
      },
    });
    const { signal } = new AbortController();
    await fetch(site.url(), { tokens: 3, timeoutMs: 10, signal, method: 'DELETE' });
    expect(seen).toEqual([{ signal, method: 'DELETE', redirect: 'manual' }]);
    expect(await outbound.limiter.allow(HOME)).toMatchObject({ allowed: false });
  });

  it('fails at once when the turn would come too late, and sends nothing', async () => {
    configure({ default: { requestsPerSecond: 0.02, burstCapacity: 1 } });
    await fetch();
    await expect(fetch(site.url(), { timeoutMs: 1_000 })).rejects.toThrow(WaitTimedOutError);
    expect(site.received).toHaveLength(1);
  });

  it.each(['/items', 'items', '', '//host/items', 'http://', 'data:text/plain,hello'])(
    'says what to write instead of %j',
    async (url) => {
      await expect(fetch(url)).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: `Expected \`url\` to be a whole URL, such as "https://api.example.com/items", got "${url}".`,
      });
    },
  );

  it.each([undefined, null, 42, {}])('says what to write instead of %p', async (url) => {
    const fetching = outbound.limiter.fetch(url as string);
    await expect(fetching).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('shows no secrets of an address that it cannot use', async () => {
    const shown = (url: string) => fetch(url).catch((error: Error) => error.message);
    expect(await shown('/items?token=secret')).toMatch(/got "\/items\.\.\."\.$/);
    expect(await shown('http://user:secret@')).not.toContain('secret');
    expect(await shown('/items#secret')).not.toContain('secret');
  });

  it('refuses a host that cannot be counted', async () => {
    await expect(fetch('http://host with space/')).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
    const tooLong = `http://${'a.'.repeat(150)}example/`;
    await expect(fetch(tooLong)).rejects.toThrow(InvalidDomainError);
  });
});

describe('calling off', () => {
  const reason = new Error('changed my mind');

  it('ends the wait, and nothing is sent', async () => {
    configure({ default: { requestsPerSecond: 0.1, burstCapacity: 1 } });
    await fetch();
    const aborting = new AbortController();
    const fetching = fetch(site.url(), { signal: aborting.signal });
    await until('the wait', () => outbound.limiter.waiting(HOME).count === 1);
    aborting.abort(reason);
    await expect(fetching).rejects.toThrow(WaitAbortedError);
    await expect(fetching).rejects.toMatchObject({ domain: HOME, cause: reason });
    expect(outbound.limiter.waiting(HOME)).toEqual({ count: 0, oldestMs: 0 });
    expect(site.received).toHaveLength(1);
    expect(blocks()).toEqual({});
  });

  it('ends the wait of a Request by its own signal', async () => {
    const aborting = new AbortController();
    aborting.abort(reason);
    const request = new Request(site.url(), { signal: aborting.signal });
    await expect(fetch(request)).rejects.toThrow(WaitAbortedError);
  });

  it('follows the signal beside a Request, and none where that is null', async () => {
    const request = () => new Request(site.url(), { signal: AbortSignal.abort(reason) });
    const calm = new AbortController().signal;
    expect((await fetch(request(), { signal: calm })).status).toBe(200);
    expect((await fetch(request(), { signal: null })).status).toBe(200);
  });

  it('ends the call, with the reason that was given', async () => {
    fallSilent();
    const aborting = new AbortController();
    const fetching = fetch(site.url(), { signal: aborting.signal });
    await until('the request', () => site.received.length === 1);
    aborting.abort(reason);
    await expect(fetching).rejects.toBe(reason);
    expect(blocks()).toEqual({});
    await until('the connection to end', () => site.brokenOff === 1);
  });

  it('lets another call try at once when it ends the one that tries after a cooldown', async () => {
    configure({ throttle: { blocksToCooldown: 1, minCooldownMs: 1, maxCooldownMs: 1 } });
    answer(403);
    await fetch();
    fallSilent();
    const aborting = new AbortController();
    const trying = fetch(site.url(), { signal: aborting.signal });
    await until('the one that tries', () => site.received.length === 2);
    answer(200, {}, 'ok');
    const next = fetch(site.url(), { timeoutMs: 20_000 });
    expect(outbound.limiter.waiting(HOME).count).toBe(1);
    aborting.abort(reason);
    await expect(trying).rejects.toBe(reason);
    // It would be taken for lost after half a minute.
    expect((await next).status).toBe(200);
    expect(await state()).toMatchObject({ status: 'normal' });
  });

  it.each(['application/json', 'text/html'])('ends the reading of %s', async (type) => {
    site.answering = (response) => {
      response.writeHead(200, { 'content-type': type });
      response.write('x'.repeat(100_000));
    };
    const aborting = new AbortController();
    const response = await fetch(site.url(), { signal: aborting.signal });
    const reading = response.text();
    setTimeout(() => aborting.abort(reason), 20);
    await expect(reading).rejects.toBe(reason);
    await until('the connection to end', () => site.brokenOff === 1);
  });

  it('while the beginning of a page is looked at leaves the failure to the reader', async () => {
    site.answering = (response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.write('<html>');
    };
    const aborting = new AbortController();
    const fetching = fetch(site.url(), { signal: aborting.signal });
    await until('the request', () => site.received.length === 1);
    setTimeout(() => aborting.abort(reason), 50);
    const response = await fetching;
    expect(response.status).toBe(200);
    // The error of a body that was copied before is not that of the signal.
    await expect(response.text()).rejects.toThrow();
    expect(blocks()).toEqual({});
  });
});

describe('the body', () => {
  const HTML = { 'content-type': 'text/html; charset=utf-8' };

  it.each(['text', 'json', 'arrayBuffer', 'blob', 'body'] as const)(
    'of a page that was looked at can be read by %s',
    async (how) => {
      answer(200, HTML, '"page"');
      const response = await fetch();
      expect(response.bodyUsed).toBe(false);
      if (how === 'body') {
        const parts: Uint8Array[] = [];
        for await (const part of response.body!) parts.push(part);
        expect(Buffer.concat(parts).toString()).toBe('"page"');
      } else if (how === 'json') {
        expect(await response.json()).toBe('page');
      } else {
        const read: unknown = await response[how]();
        expect(await new Response(read as Blob).text()).toBe('"page"');
      }
    },
  );

  it.each([65_535, 65_536, 65_537, 1_000_000])('of %d bytes comes whole', async (length) => {
    // Not all of it one byte a character, so that pieces end within one.
    const page = 'pâge'.repeat(length / 4);
    answer(200, HTML, page);
    expect(await (await fetch()).text()).toBe(page);
    expect(blocks()).toEqual({});
  });

  it('can be copied by the caller as well', async () => {
    answer(200, HTML, '<p>page</p>');
    const response = await fetch();
    const copy = response.clone();
    expect(await Promise.all([response.text(), copy.text()])).toEqual([
      '<p>page</p>',
      '<p>page</p>',
    ]);
  });

  it('streams while it is still coming, beyond what is looked at', async () => {
    let last: ServerResponse | undefined;
    site.answering = (response) => {
      response.writeHead(200, HTML);
      response.write('x'.repeat(100_000));
      last = response;
    };
    const response = await fetch();
    const reader = response.body!.getReader();
    let read = 0;
    while (read < 100_000) read += ((await reader.read()).value as Uint8Array).length;
    last!.end('the end');
    const { value } = (await reader.read()) as { value: Uint8Array };
    expect(Buffer.from(value).toString()).toBe('the end');
    expect((await reader.read()).done).toBe(true);
  });

  it('that comes piece by piece is handed over before its end', async () => {
    let last: ServerResponse | undefined;
    site.answering = (response) => {
      response.writeHead(200, HTML);
      response.write('<html><body>');
      last = response;
    };
    const startedMs = performance.now();
    const response = await fetch();
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(last!.writableEnded).toBe(false);
    const reading = response.text();
    last!.end('<p>last</p>');
    expect(await reading).toBe('<html><body><p>last</p>');
    // What had come was no whole page, so that nobody can say that it is blank.
    expect(blocks()).toEqual({});
  });

  it('that is no page is handed over at once, without a look', async () => {
    let copies = 0;
    configure({
      fetch: async (...args) => {
        const response = await globalThis.fetch(...args);
        const clone = response.clone.bind(response);
        return Object.assign(response, { clone: () => (copies++, clone()) });
      },
    });
    site.answering = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
    };
    const response = await fetch();
    const { value } = (await response.body!.getReader().read()) as { value: Uint8Array };
    expect(Buffer.from(value).toString()).toBe('data: 1\n\n');
    expect(copies).toBe(0);
  });

  it('that breaks off is heard of by whoever reads it', async () => {
    site.answering = (response) => {
      response.writeHead(200, { ...HTML, 'content-length': '1000' });
      response.write('<p>', () => response.destroy());
    };
    const response = await fetch();
    await expect(response.text()).rejects.toThrow('terminated');
    expect(blocks()).toEqual({});
  });

  it('is not kept in memory when it was looked at', async () => {
    const MB = 1_048_576;
    const part = Buffer.alloc(MB, 'x');
    site.answering = async (response) => {
      response.writeHead(200, HTML);
      for (let i = 0; i < 100; i++) if (!response.write(part)) await once(response, 'drain');
      response.end();
    };
    const response = await fetch();
    const before = process.memoryUsage().arrayBuffers;
    let [read, highest] = [0, 0];
    for await (const piece of response.body!) {
      read += (piece as Uint8Array).length;
      highest = Math.max(highest, process.memoryUsage().arrayBuffers - before);
    }
    expect(read).toBe(100 * MB);
    expect(highest).toBeLessThan(60 * MB);
  });

  it('may be left unread: its connection ends with it, and so does its slot', async () => {
    site.answering = async (response) => {
      response.writeHead(200, HTML);
      while (!response.destroyed) {
        if (!response.write('x'.repeat(65_536))) {
          await new Promise((resolve) => response.once('drain', resolve));
        }
      }
    };
    configure({
      default: { requestsPerSecond: 1_000, burstCapacity: 100, maxConcurrent: 1 },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) void fetch().then(({ status }) => statuses.push(status));
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await until('the connections to end', () => {
      collect();
      return site.brokenOff === 5;
    });
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
  });

  it('is none for HEAD, 204 and 304', async () => {
    answer(200, HTML);
    expect(await (await fetch(site.url(), { method: 'HEAD' })).text()).toBe('');
    answer(204);
    expect((await fetch()).body).toBeNull();
    answer(304);
    expect((await fetch()).status).toBe(304);
    expect(blocks()).toEqual({});
  });
});

describe('being blocked', () => {
  it.each([
    ['api-429', '429_rate_limited'],
    ['blank-200', 'blank_page'],
    ['cloudflare-error-1020', '403_forbidden'],
    ['cloudflare-managed-challenge', 'cloudflare_challenge'],
    ['cloudflare-under-attack-503', 'cloudflare_challenge'],
    ['hcaptcha-wall-403', 'captcha'],
    ['image-200', undefined],
    ['json-200', undefined],
    ['login-with-recaptcha', undefined],
    ['maintenance-503', 'unavailable'],
    ['nginx-403', '403_forbidden'],
    ['no-content', undefined],
    ['origin-403-behind-cloudflare', '403_forbidden'],
    ['recaptcha-unusual-traffic-429', 'captcha'],
    ['single-page-app', undefined],
    ['turnstile-interstitial', 'cloudflare_challenge'],
  ])('is told by what came back: %s is %s', async (name, type) => {
    answerRecorded(name);
    const { status, body } = readRecorded(name);
    const response = await fetch();
    expect(response.status).toBe(status);
    expect(Buffer.from(await response.arrayBuffer()).toString('latin1')).toBe(body);
    expect(blocks()).toEqual(type === undefined ? {} : { [type]: 1 });
  });

  it('three times in a row makes all others wait, until one finds that it is over', async () => {
    configure({
      default: { requestsPerSecond: 1_000, burstCapacity: 1 },
      throttle: { minCooldownMs: 1_000, maxCooldownMs: 1_000 },
    });
    const events: string[] = [];
    outbound.throttler.events.on('cooldown', ({ domain }) => events.push(`cooldown ${domain}`));
    outbound.throttler.events.on('recovered', ({ domain }) => events.push(`recovered ${domain}`));
    answer(403);
    for (let i = 0; i < 3; i++) await fetch();
    expect(await state()).toMatchObject({ status: 'cooling', consecutiveBlocks: 3 });
    const sent = site.received.length;
    await expect(fetch(site.url(), { timeoutMs: 50 })).rejects.toThrow(WaitTimedOutError);
    answer(200, { 'content-type': 'text/plain' }, 'ok');
    const statuses = await Promise.all(
      [fetch(), fetch(), fetch()].map(async (r) => (await r).status),
    );
    expect(statuses).toEqual([200, 200, 200]);
    expect(site.received).toHaveLength(sent + 3);
    expect(events).toEqual([`cooldown ${HOME}`, `recovered ${HOME}`]);
    expect(await state()).toMatchObject({ status: 'normal', consecutiveBlocks: 0 });
  });

  it('lets one request try after the pause, and holds the others until it is back', async () => {
    configure({ throttle: { blocksToCooldown: 1, minCooldownMs: 100, maxCooldownMs: 100 } });
    answer(403);
    await fetch();
    const held: ServerResponse[] = [];
    site.answering = (response) => held.push(response);
    const all = Promise.all([fetch(), fetch(), fetch()]);
    await until('one that tries', () => held.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(held).toHaveLength(1);
    held[0]!.end('ok');
    await until('the others', () => held.length === 3);
    for (const response of held) response.end('ok');
    expect((await all).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it.each([
    [429, '429_rate_limited'],
    [503, 'unavailable'],
  ])('with %d and Retry-After pauses everybody, at the first time', async (status, type) => {
    answer(status, { 'retry-after': '1' });
    const startedMs = performance.now();
    expect((await fetch()).status).toBe(status);
    expect(blocks()).toEqual({ [type]: 1 });
    expect(await state()).toMatchObject({ status: 'cooling', consecutiveBlocks: 1 });
    answer(200, {}, 'ok');
    await Promise.all([fetch(), fetch()]);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(999);
    expect(await state()).toMatchObject({ status: 'normal', consecutiveBlocks: 0 });
    expect(await outbound.limiter.allow(ELSEWHERE)).toMatchObject({ allowed: true });
  });

  it('takes a date for Retry-After', async () => {
    answer(429, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() });
    await fetch();
    const { cooldownMs } = await state();
    expect(cooldownMs).toBeGreaterThan(57_000);
    expect(cooldownMs).toBeLessThanOrEqual(60_000);
  });

  it.each(['0', '-1', 'soon', ''])('ignores a Retry-After of %j', async (value) => {
    answer(429, { 'retry-after': value });
    await fetch();
    expect(await state()).toMatchObject({ status: 'normal', consecutiveBlocks: 1 });
  });

  it.each([200, 301, 403, 500])('ignores the Retry-After of a %d', async (status) => {
    answer(status, { 'retry-after': '60', 'content-type': 'text/plain' }, 'text');
    await fetch(site.url(), { redirect: 'manual' });
    expect(await state()).toMatchObject({ status: 'normal' });
  });

  it('is not what an error of the server means, nor a 503 that asks for nothing', async () => {
    for (const status of [400, 404, 500, 502, 503]) {
      answer(status, { 'content-type': 'text/plain' }, 'broken');
      await fetch();
    }
    expect(blocks()).toEqual({});
  });

  it('is forgotten upon a success', async () => {
    answer(403);
    await fetch();
    await fetch();
    answer(200, {}, 'ok');
    await fetch();
    expect(await state()).toMatchObject({ consecutiveBlocks: 0 });
  });

  it('is told by classifiers of your own, from bodies of any type', async () => {
    configure({
      classifiers: [({ body }) => (body?.includes('prices are hidden') ? 'soft_ban' : undefined)],
    });
    answer(200, { 'content-type': 'application/json' }, '{"note":"prices are hidden"}');
    expect(await (await fetch()).json()).toEqual({ note: 'prices are hidden' });
    expect(blocks()).toEqual({ soft_ban: 1 });
  });
});

describe('getting lost', () => {
  it('is counted when the connection is refused, and opens no cooldown', async () => {
    const nobody = `http://${HOME}:${await freePort()}/`;
    for (let i = 0; i < 4; i++) {
      await expect(fetch(nobody)).rejects.toMatchObject({
        message: 'fetch failed',
        cause: { code: 'ECONNREFUSED' },
      });
    }
    expect(blocks()).toEqual({ connection_error: 4 });
    expect(await state()).toEqual({ status: 'normal', consecutiveBlocks: 0, cooldownMs: 0 });
  });

  it('is counted when the connection breaks', async () => {
    site.answering = (response) => response.destroy();
    await expect(fetch()).rejects.toThrow('fetch failed');
    expect(blocks()).toEqual({ connection_error: 1 });
  });

  it('is counted when it takes too long', async () => {
    fallSilent();
    const fetching = fetch(site.url(), { signal: AbortSignal.timeout(100) });
    await expect(fetching).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(blocks()).toEqual({ timeout: 1 });
    expect(await state()).toMatchObject({ status: 'normal', consecutiveBlocks: 0 });
  });

  it('is not what a wait is that takes too long', async () => {
    configure({ default: { requestsPerSecond: 0.1, burstCapacity: 1 } });
    await fetch();
    const fetching = fetch(site.url(), { signal: AbortSignal.timeout(50) });
    await expect(fetching).rejects.toMatchObject({
      name: 'WaitAbortedError',
      cause: { name: 'TimeoutError' },
    });
    expect(blocks()).toEqual({});
  });
});

describe('what a site says is left', () => {
  const EMPTY = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' };

  it.each([
    { ratelimit: '"default";r=0;t=60' },
    EMPTY,
    { 'ratelimit-remaining': '0', 'ratelimit-reset': '60' },
  ])('is heeded when asked to: %j', async (headers) => {
    configure({ heedUpstreamLimits: true });
    answer(200, headers as Record<string, string>, 'ok');
    expect((await fetch()).status).toBe(200);
    const { status, cooldownMs } = await state();
    expect(status).toBe('cooling');
    expect(cooldownMs).toBeGreaterThan(50_000);
    expect(blocks()).toEqual({});
  });

  it.each([429, 403])('is heeded with a %d that does not say how long to wait', async (status) => {
    configure({ heedUpstreamLimits: true });
    answer(status, EMPTY);
    await fetch();
    expect(await state()).toMatchObject({ status: 'cooling', consecutiveBlocks: 1 });
  });

  it('counts less than what Retry-After says', async () => {
    configure({ heedUpstreamLimits: true });
    answer(429, { ...EMPTY, 'retry-after': '5' });
    await fetch();
    const { cooldownMs } = await state();
    expect(cooldownMs).toBeGreaterThan(3_000);
    expect(cooldownMs).toBeLessThanOrEqual(5_000);
  });

  it('is not heeded while something is left', async () => {
    configure({ heedUpstreamLimits: true });
    answer(200, { ...EMPTY, 'x-ratelimit-remaining': '1' }, 'ok');
    await fetch();
    expect(await state()).toMatchObject({ status: 'normal' });
  });

  it('is not heeded unless asked to', async () => {
    answer(200, EMPTY, 'ok');
    await fetch();
    expect(await state()).toMatchObject({ status: 'normal' });
  });

  it('makes calls that follow each other go on, each after its pause', async () => {
    configure({ heedUpstreamLimits: true });
    answer(200, { ...EMPTY, 'x-ratelimit-reset': '0.1' }, 'ok');
    for (let i = 0; i < 6; i++) expect((await fetch()).status).toBe(200);
    // No number of pauses is a block, however many there are in a row.
    expect((await state()).cooldownMs).toBeLessThanOrEqual(100);
  });
});

describe('the slot of a call', () => {
  const ONE_AT_A_TIME = { requestsPerSecond: 1_000, burstCapacity: 1_000, maxConcurrent: 1 };
  const SHORT = { minCooldownMs: 1, maxCooldownMs: 1 };

  const ENDINGS: Record<string, () => Promise<unknown>> = {
    'a good answer': () => fetch(),
    'a page': () => {
      answer(200, { 'content-type': 'text/html' }, '<p>page</p>');
      return fetch();
    },
    'a block': () => {
      answer(403);
      return fetch();
    },
    'a pause': () => {
      answer(429, { 'retry-after': '0.01' });
      return fetch();
    },
    'a refused connection': async () => fetch(`http://${HOME}:${await freePort()}/`),
    'a lost connection': () => {
      site.answering = (response) => response.destroy();
      return fetch();
    },
    'a timeout': () => {
      fallSilent();
      return fetch(site.url(), { signal: AbortSignal.timeout(50) });
    },
    'a call that was called off': async () => {
      fallSilent();
      const aborting = new AbortController();
      const fetching = fetch(site.url(), { signal: aborting.signal });
      await until('the request', () => site.received.length === 1);
      aborting.abort();
      return fetching;
    },
    'options that fetch refuses': () => fetch(site.url(), { method: 'GET', body: 'x' }),
  };

  it.each(Object.keys(ENDINGS))('is free after %s', async (ending) => {
    configure({ default: ONE_AT_A_TIME, throttle: SHORT });
    await ENDINGS[ending]!().catch(() => undefined);
    answer(200, {}, 'ok');
    expect((await fetch(site.url(), { timeoutMs: 5_000 })).status).toBe(200);
  });

  it('is held while the call is under way', async () => {
    configure({ default: ONE_AT_A_TIME });
    const held: ServerResponse[] = [];
    site.answering = (response) => held.push(response);
    const [first, second] = [fetch(), fetch()];
    await until('the first', () => held.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(held).toHaveLength(1);
    held[0]!.end('ok');
    await first;
    await until('the second', () => held.length === 2);
    held[1]!.end('ok');
    expect((await second).status).toBe(200);
  });

  it('is free when fetch throws instead of failing', async () => {
    const broken = new Error('broken at once');
    let isBroken = true;
    configure({
      default: ONE_AT_A_TIME,
      fetch: (...args) => {
        if (isBroken) throw broken;
        return globalThis.fetch(...args);
      },
    });
    await expect(fetch()).rejects.toBe(broken);
    isBroken = false;
    expect((await fetch(site.url(), { timeoutMs: 1_000 })).status).toBe(200);
  });
});

describe('what goes wrong on our side', () => {
  class FailingStore extends MemoryStore {
    override changeGate(): never {
      throw Object.assign(new Error('the store is gone'), { code: 'ECONNREFUSED' });
    }

    override lookAtGate(): never {
      throw new Error('the store is gone');
    }

    override giveBack(): never {
      throw new Error('the store is gone');
    }
  }

  beforeEach(() => {
    const rule = { requestsPerSecond: 1_000, burstCapacity: 1_000, maxConcurrent: 10 };
    outbound = outboundSide({ default: rule }, new FailingStore(new MonotonicClock()));
  });

  it.each([200, 403, 429])('costs nobody a response of %d', async (status) => {
    answer(status, { 'content-type': 'text/html' }, '<p>page</p>');
    const response = await fetch();
    expect(response.status).toBe(status);
    expect(await response.text()).toBe('<p>page</p>');
  });

  it('does not stand before the error that the caller has to see', async () => {
    const nobody = `http://${HOME}:${await freePort()}/`;
    await expect(fetch(nobody)).rejects.toThrow('fetch failed');
  });

  it('as a listener or a classifier that throws costs nobody a response', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const broken = () => {
      throw new Error('broken');
    };
    configure({ classifiers: [broken] });
    outbound.throttler.events.on('block', broken);
    answer(403);
    expect((await fetch()).status).toBe(403);
    expect(blocks()).toEqual({ '403_forbidden': 1 });
    expect(warn.mock.calls).toEqual([
      ['A listener of AdaptiveThrottler.events threw: Error: broken'],
    ]);
    warn.mockRestore();
  });

  it('as a response without a body that could be copied costs nobody that response', async () => {
    const odd = { status: 403, headers: new Headers(), body: {}, clone: () => ({ body: {} }) };
    configure({ fetch: () => Promise.resolve(odd as unknown as Response) });
    expect(await fetch()).toBe(odd);
    expect(await fetch()).toBe(odd);
  });

  it('as a body that was read already is judged by its head', async () => {
    configure({
      fetch: async () => {
        const response = new Response('page', { headers: { 'content-type': 'text/html' } });
        await response.text();
        return response;
      },
    });
    await fetch();
    expect(blocks()).toEqual({});
  });
});
