import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OutboundOptions } from '../../lib/nest/outbound-options.js';
import type { Outbound } from '../../lib/nest/outbound.js';
import type { WaitOptions } from '../../lib/outbound/wait-options.js';
import { until } from '../redis/until.mjs';
import type { ReceivedRequest } from '../support/http-site.js';
import { HttpSite } from '../support/http-site.js';
import { outboundSide } from '../support/outbound-side.js';

/** One machine, different domains, and different origins. */
const HOME = '127.0.0.1';
const ELSEWHERE = '127.0.0.2';
const SECRETS = {
  authorization: 'Bearer secret',
  'proxy-authorization': 'Basic secret',
  cookie: 'session=secret',
  'x-own': 'kept',
};

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

const requests = (domain: string) => outbound.limiter.getStats(domain).totalRequests;

/** Answers each path with a redirect, or as it is told. */
function redirect(table: Record<string, [status: number, location?: string]>): void {
  site.answering = (response, { path }) => {
    const [status = 200, location] = table[path] ?? [];
    if (location !== undefined) response.setHeader('location', location);
    response.statusCode = status;
    response.setHeader('content-type', 'text/plain');
    response.end(`body of ${path}`);
  };
}

/** What a call came to, as far as its caller and the sites can tell. */
async function outcomeOf(calling: () => Promise<Response>): Promise<unknown> {
  const before = site.received.length;
  const seen = () => site.received.slice(before).map(comparable);
  try {
    const response = await calling();
    const { status, statusText, url, redirected, type, ok } = response;
    const headers = [...response.headers].filter(([name]) => name !== 'date');
    const bodyUsed = response.bodyUsed;
    const body = await response.text();
    const head = { status, statusText, url, redirected, type, ok, headers, bodyUsed };
    return { ...head, body, usedThen: response.bodyUsed, seen: seen() };
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message, seen: seen() };
  }
}

function comparable({ method, path, headers, body }: ReceivedRequest) {
  // The boundary of a form is another one each time.
  const text = JSON.stringify({ method, path, headers, body });
  return text.replace(/-+formdata-undici-\d+/g, 'BOUNDARY');
}

type Case = readonly [
  what: string,
  table: () => Parameters<typeof redirect>[0],
  init?: () => RequestInit,
  path?: string,
];

const form = () => {
  const data = new FormData();
  data.set('name', 'value');
  return data;
};
const stream = () =>
  ({ method: 'POST', body: new Blob(['streamed']).stream(), duplex: 'half' }) as RequestInit;
async function* pieces() {
  yield await Promise.resolve(Buffer.from('pieces'));
}
const post = (body: RequestInit['body'] = 'sent', headers = {}) => ({
  ...{ method: 'POST', body },
  headers: { ...SECRETS, 'content-language': 'en', ...headers },
});
const to = (status: number, host = HOME) => ({ '/': [status, site.url('/there', host)] as const });
const chain = (length: number) =>
  Object.fromEntries(
    Array.from({ length }, (_, i) => [i === 0 ? '/' : `/${i}`, [302, `/${i + 1}`] as const]),
  );

const STATUSES = [300, 301, 302, 303, 304, 305, 307, 308];
const BODIES: Record<string, () => RequestInit> = {
  'a text': () => post(),
  'a form': () => post(form()),
  'a query': () => post(new URLSearchParams({ a: '1' })),
  'a blob': () => post(new Blob(['blob'], { type: 'text/csv' })),
  'an empty text': () => post(''),
  'a stream': stream,
  'an async iterable': () => ({ ...stream(), body: pieces() as unknown as BodyInit }),
  'a PUT': () => ({ ...post(), method: 'PUT' }),
  'a patch in small letters': () => ({ ...post(), method: 'patch' }),
  'a post in small letters': () => ({ ...post(), method: 'post' }),
  'a HEAD': () => ({ method: 'HEAD', headers: SECRETS }),
  'a DELETE without a body': () => ({ method: 'DELETE', headers: SECRETS }),
  'a GET': () => ({ headers: SECRETS }),
};

const CASES: readonly Case[] = [
  ...STATUSES.flatMap((status) =>
    Object.entries(BODIES).map(([what, init]): Case => [
      `${what} after ${status}`,
      () => to(status) as never,
      init,
    ]),
  ),
  ...STATUSES.map((status): Case => [
    `a text after ${status} to another domain`,
    () => to(status, ELSEWHERE) as never,
    BODIES['a text'],
  ]),
  ['another port and back', () => ({ '/': [307, site.url('/there', 'localhost')] }), post],
  ['a relative address', () => ({ '/a/b?c': [302, '../d?e'] }), undefined, '/a/b?c'],
  ['an address without a scheme', () => ({ '/': [302, `//${HOME}:${site.port}/there`] })],
  ['an empty address', () => ({ '/x': [302, ''] }), undefined, '/x'],
  ['no address', () => ({ '/': [302] })],
  ['an address that cannot be read', () => ({ '/': [302, 'http://[broken'] })],
  ['an address that is not of HTTP', () => ({ '/': [302, 'ftp://127.0.0.1/file'] })],
  ['an address that is data', () => ({ '/': [302, 'data:text/plain,hello'] })],
  ['an address with a password', () => ({ '/': [302, `http://me:pw@${HOME}:${site.port}/there`] })],
  ['letters beyond ASCII', () => ({ '/': [302, Buffer.from('/größe').toString('latin1')] })],
  ['an address with spaces', () => ({ '/': [302, '/there and back'] })],
  ['a fragment that was asked for', () => to(302) as never, undefined, '/#top'],
  ['a fragment that it brings', () => ({ '/': [302, '/there#bottom'] }), undefined, '/#top'],
  ['20 redirects', () => chain(20) as never],
  ['21 redirects', () => chain(21) as never],
  ['an endless circle', () => ({ '/': [302, '/'] })],
  ['307 after 303', () => ({ '/': [303, '/1'], '/1': [307, '/2'] }), post],
  ['303 after 307', () => ({ '/': [307, '/1'], '/1': [303, '/2'] }), post],
  [
    'credentials that were dropped stay so',
    () => ({
      '/': [307, site.url('/1', ELSEWHERE)],
      '/1': [307, site.url('/2')],
    }),
    post,
  ],
  ['manual', () => to(302) as never, () => ({ redirect: 'manual' })],
  ['error', () => to(302) as never, () => ({ redirect: 'error' })],
  ['error without a redirect', () => ({}), () => ({ redirect: 'error' })],
];

describe('a redirect leads where it leads without a limit', () => {
  it.each(CASES)('%s', async (_, table, init = () => ({}), path = '/') => {
    redirect(table());
    const expected = await outcomeOf(() => globalThis.fetch(site.url(path), init()));
    expect(await outcomeOf(() => fetch(site.url(path), init()))).toEqual(expected);
    configure({ default: { requestsPerSecond: 1_000, burstCapacity: 1_000, maxConcurrent: 1 } });
    expect(await outcomeOf(() => fetch(site.url(path), init()))).toEqual(expected);
  });

  it.each(CASES)('%s, by a Request', async (_, table, init = () => ({}), path = '/') => {
    redirect(table());
    const expected = await outcomeOf(() => globalThis.fetch(new Request(site.url(path), init())));
    expect(await outcomeOf(() => fetch(new Request(site.url(path), init())))).toEqual(expected);
  });

  it('of bytes, which Node 20 cannot send again by itself', async () => {
    redirect(to(307) as never);
    const init = (): RequestInit => ({ method: 'POST', body: new Uint8Array([65, 66]) });
    for (const calling of [
      () => fetch(site.url(), init()),
      () => fetch(new Request(site.url(), init())),
    ]) {
      site.received.length = 0;
      expect(await (await calling()).text()).toBe('body of /there');
      expect(site.received.map(({ body }) => body)).toEqual(['AB', 'AB']);
    }
  });

  it.each(['same-origin', 'cors', 'no-cors'] as const)('in the mode %s', async (mode) => {
    redirect(to(302) as never);
    const near = await outcomeOf(() => globalThis.fetch(site.url(), { mode }));
    expect(await outcomeOf(() => fetch(site.url(), { mode }))).toEqual(near);
    if (mode === 'no-cors') return;
    redirect(to(302, ELSEWHERE) as never);
    const far = await outcomeOf(() => globalThis.fetch(site.url(), { mode }));
    expect(await outcomeOf(() => fetch(site.url(), { mode }))).toEqual(far);
  });

  it('by a Request and what is said beside it', async () => {
    redirect(to(307) as never);
    const request = () => new Request(site.url(), post('of the request'));
    const init = (): RequestInit => ({ method: 'PUT', body: 'beside', headers: { 'x-own': 'b' } });
    const expected = await outcomeOf(() => globalThis.fetch(request(), init()));
    expect(await outcomeOf(() => fetch(request(), init()))).toEqual(expected);
  });

  it('by a way that a file can check by its hash', async () => {
    redirect(to(302) as never);
    const integrity = 'sha256-' + 'wrong'.padEnd(43, 'x') + '=';
    const expected = await outcomeOf(() => globalThis.fetch(site.url(), { integrity }));
    expect(await outcomeOf(() => fetch(site.url(), { integrity }))).toEqual(expected);
  });
});

describe('each hop of a redirect', () => {
  it('is a call to its own domain, by what it costs', async () => {
    redirect({ '/': [302, site.url('/there', ELSEWHERE)] });
    for (let i = 0; i < 3; i++) await fetch(site.url(), { tokens: 5 });
    expect([requests(HOME), requests(ELSEWHERE)]).toEqual([3, 3]);
  });

  it('waits for its own turn', async () => {
    configure({ domains: { [ELSEWHERE]: { requestsPerSecond: 10, burstCapacity: 1 } } });
    redirect({ '/': [302, site.url('/there', ELSEWHERE)] });
    const startedMs = performance.now();
    await Promise.all([fetch(), fetch(), fetch()]);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(199);
  });

  it('waits for what is left of the time', async () => {
    configure({
      domains: {
        [HOME]: { requestsPerSecond: 5, burstCapacity: 1 },
        [ELSEWHERE]: { requestsPerSecond: 1, burstCapacity: 1 },
      },
    });
    redirect({ '/': [302, site.url('/there', ELSEWHERE)] });
    await fetch();
    // 200 ms here leave 700 there, where 800 would be needed.
    await expect(fetch(site.url(), { timeoutMs: 900 })).rejects.toMatchObject({
      ...{ code: 'WAIT_TIMED_OUT', domain: ELSEWHERE },
    });
    expect(site.received.map(({ path }) => path)).toEqual(['/', '/there', '/']);
  });

  it('waits no longer than the module says', async () => {
    configure({
      domains: { [ELSEWHERE]: { requestsPerSecond: 0.1, burstCapacity: 1 } },
      timeoutMs: 1_000,
    });
    redirect({ '/': [302, site.url('/there', ELSEWHERE)] });
    await fetch();
    await expect(fetch()).rejects.toMatchObject({ code: 'WAIT_TIMED_OUT', domain: ELSEWHERE });
  });

  it('is refused where calls are switched off', async () => {
    configure({
      domains: { [ELSEWHERE]: { requestsPerSecond: 1, burstCapacity: 1, maxConcurrent: 0 } },
    });
    redirect({ '/': [302, site.url('/there', ELSEWHERE)] });
    await expect(fetch()).rejects.toMatchObject({ code: 'OUTBOUND_DENIED', domain: ELSEWHERE });
    expect(site.received).toHaveLength(1);
  });

  it('is called off while it waits', async () => {
    configure({ domains: { [ELSEWHERE]: { requestsPerSecond: 0.1, burstCapacity: 1 } } });
    redirect({ '/': [302, site.url('/there', ELSEWHERE)] });
    await fetch();
    const aborting = new AbortController();
    const fetching = fetch(site.url(), { signal: aborting.signal });
    await until('the wait', () => outbound.limiter.waiting(ELSEWHERE).count === 1);
    aborting.abort();
    await expect(fetching).rejects.toMatchObject({ code: 'WAIT_ABORTED', domain: ELSEWHERE });
  });

  it('is told of its own domain', async () => {
    site.answering = (response, { path }) => {
      if (path === '/there') response.writeHead(429, { 'retry-after': '60' });
      else response.writeHead(302, { location: site.url('/there', ELSEWHERE) });
      response.end();
    };
    expect((await fetch()).status).toBe(429);
    expect(await outbound.throttler.state(HOME)).toMatchObject({ status: 'normal' });
    expect(await outbound.throttler.state(ELSEWHERE)).toMatchObject({ status: 'cooling' });
  });

  it('that is lost is counted where it was lost', async () => {
    site.answering = (response, { path }) => {
      if (path === '/there') return response.destroy();
      response.writeHead(302, { location: site.url('/there', ELSEWHERE) });
      return response.end();
    };
    await expect(fetch()).rejects.toThrow('fetch failed');
    const blocks = (domain: string) => outbound.throttler.stats(domain).blocksByType;
    expect([blocks(HOME), blocks(ELSEWHERE)]).toEqual([{}, { connection_error: 1 }]);
  });

  it('gives its slot back before the next one waits, and drops its body', async () => {
    configure({ default: { requestsPerSecond: 1_000, burstCapacity: 1_000, maxConcurrent: 1 } });
    const open: ServerResponse[] = [];
    site.answering = (response, { path }) => {
      if (path === '/3') return response.end('done');
      const next = path === '/' ? '/1' : `/${Number(path.slice(1)) + 1}`;
      response.writeHead(302, { location: next, 'content-type': 'text/plain' });
      open.push(response);
      // It never ends.
      return response.write('x'.repeat(1_000));
    };
    const both = await Promise.all([fetch(), fetch()]);
    expect(await Promise.all(both.map((response) => response.text()))).toEqual(['done', 'done']);
    await until('the others to be closed', () => open.every(({ destroyed }) => destroyed));
    expect(open).toHaveLength(6);
  });

  it.each([
    ['http://[broken', 'Invalid URL'],
    ['ftp://127.0.0.1/', 'URL scheme must be a HTTP(S) scheme'],
  ])('to %s frees the slot', async (location, reason) => {
    configure({ default: { requestsPerSecond: 1_000, burstCapacity: 1_000, maxConcurrent: 1 } });
    redirect({ '/': [302, location] });
    for (let i = 0; i < 3; i++) {
      await expect(fetch(site.url(), { timeoutMs: 1_000 })).rejects.toMatchObject({
        ...{ message: 'fetch failed', cause: { message: reason } },
      });
    }
  });
});
