import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { MonotonicClock } from '../../lib/memory/monotonic-clock.js';
import type { OutboundOptions } from '../../lib/nest/outbound-options.js';
import type { Outbound } from '../../lib/nest/outbound.js';
import type { WaitOptions } from '../../lib/outbound/wait-options.js';
import { until } from '../redis/until.mjs';
import { HttpSite } from '../support/http-site.js';
import { outboundSide } from '../support/outbound-side.js';

const HOME = '127.0.0.1';
const RULE = { requestsPerSecond: 1_000, burstCapacity: 1_000, maxConcurrent: 2 };

let site: HttpSite;
let outbound: Outbound;
/** Responses whose body has begun and not ended. */
let open: Set<ServerResponse>;
let released: number;

class CountingStore extends MemoryStore {
  override giveBack(returned: Parameters<MemoryStore['giveBack']>[0]): boolean {
    if (returned.kind === 'release') released++;
    return super.giveBack(returned);
  }
}

beforeEach(async () => {
  open = new Set();
  released = 0;
  site = await HttpSite.start((response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'x-own': 'yes' });
    response.write('begun ');
    open.add(response);
    response.on('close', () => open.delete(response));
  });
  configure({});
});

afterEach(async () => {
  outbound.onApplicationShutdown();
  await HttpSite.closeAll();
});

function configure(options: OutboundOptions): void {
  outbound = outboundSide({ default: RULE, ...options }, new CountingStore(new MonotonicClock()));
}

function fetch(init: RequestInit & WaitOptions = {}, path = '/') {
  return outbound.limiter.fetch(site.url(path), init);
}

function endAll(body = 'ended'): void {
  for (const response of open) response.end(body);
}

/** Whether a slot is free. */
async function isFree(): Promise<boolean> {
  const { allowed, permit } = await outbound.limiter.allow(HOME);
  if (!permit) return allowed;
  await permit.release();
  released--;
  return allowed;
}

describe('a slot is held until the body', () => {
  beforeEach(() => configure({ default: { ...RULE, maxConcurrent: 1 } }));

  const READ: Record<string, (response: Response) => Promise<unknown>> = {
    text: (response) => response.text(),
    json: (response) => response.json().catch(() => 'no JSON'),
    arrayBuffer: (response) => response.arrayBuffer(),
    blob: (response) => response.blob(),
    formData: (response) => response.formData().catch(() => 'no form'),
    'its stream': async (response) => {
      for await (const piece of response.body!) void piece;
    },
    'its stream, by bytes': async (response) => {
      const reader = response.body!.getReader({ mode: 'byob' });
      let read = '';
      for (;;) {
        const { done, value } = await reader.read(new Uint8Array(3));
        if (done) break;
        read += Buffer.from(value).toString();
      }
      expect(read).toBe('begun ended');
    },
    'a stream of Node': (response) =>
      text(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])),
    'a pipe': (response) => response.body!.pipeTo(new WritableStream()),
    'another response': (response) => new Response(response.body).text(),
    'a copy': (response) => response.clone().text(),
    'both copies': (response) => Promise.all([response.clone().text(), response.text()]),
    'a split stream': (response) =>
      Promise.all(response.body!.tee().map((one) => text(one as never))),
  };

  it.each(Object.keys(READ))('was read by %s', async (how) => {
    const response = await fetch();
    const reading = READ[how]!(response);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await isFree()).toBe(false);
    endAll();
    await reading;
    await until('the slot', isFree);
    expect(released).toBe(1);
  });

  const BROKEN_OFF: Record<string, (response: Response, aborting: AbortController) => unknown> = {
    'was cancelled': (response) => response.body!.cancel(),
    'was cancelled by its reader': async (response) => {
      const reader = response.body!.getReader();
      await reader.read();
      await reader.cancel();
    },
    'was cancelled by leaving a loop': async (response) => {
      for await (const piece of response.body!) if (piece) break;
    },
    'was cancelled in both copies': async (response) => {
      const copy = response.clone();
      await Promise.all([response.body!.cancel(), copy.body!.cancel()]);
    },
    'was called off while it is read': async (response, aborting) => {
      const reading = response.text();
      setTimeout(() => aborting.abort(new Error('changed my mind')), 20);
      await expect(reading).rejects.toThrow('changed my mind');
    },
    'was called off before anybody read it': async (response, aborting) => {
      aborting.abort(new Error('changed my mind'));
      await expect(response.text()).rejects.toThrow('changed my mind');
    },
    'was called off and is never read': (_, aborting) => aborting.abort(),
    'broke off while it is read': async (response) => {
      const reading = response.text();
      setTimeout(() => open.forEach((one) => one.destroy()), 20);
      await expect(reading).rejects.toThrow('terminated');
    },
    'broke off before anybody read it': () => open.forEach((one) => one.destroy()),
    'was received, though nobody has read it': () => endAll(),
  };

  it.each(Object.keys(BROKEN_OFF))('%s', async (how) => {
    const aborting = new AbortController();
    const response = await fetch({ signal: aborting.signal });
    expect(await isFree()).toBe(false);
    await BROKEN_OFF[how]!(response, aborting);
    await until('the slot', isFree);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(released).toBe(1);
    expect(response.status).toBe(200);
  });

  it.each([
    ['HEAD', { method: 'HEAD' }, 200],
    ['204', {}, 204],
    ['304', {}, 304],
    ['a body of nothing', {}, 200],
  ])('is known to be none: %s', async (_, init, status) => {
    site.answering = (response) => {
      response.writeHead(status, { 'content-type': 'application/octet-stream' });
      response.end();
    };
    const response = await fetch(init);
    await until('the slot', isFree);
    expect(await response.text()).toBe('');
    expect(released).toBe(1);
  });

  it('of a page that was looked at has ended', async () => {
    site.answering = (response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.write(`<p>${'x'.repeat(100_000)}`);
      open.add(response);
    };
    const response = await fetch();
    expect(await isFree()).toBe(false);
    endAll('</p>');
    expect(await response.text()).toHaveLength(100_007);
    await until('the slot', isFree);
    expect(released).toBe(1);
  });

  it('which is long has been read', async () => {
    site.answering = (response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.end('x'.repeat(10_000_000));
    };
    const response = await fetch();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await isFree()).toBe(false);
    expect(await response.text()).toHaveLength(10_000_000);
    await until('the slot', isFree);
  });
});

it('no more bodies are open at once than the rule says', async () => {
  let most = 0;
  site.answering = (response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.write('begun');
    open.add(response);
    most = Math.max(most, open.size);
    setTimeout(() => {
      open.delete(response);
      response.end('ended');
    }, 20);
  };
  const all = Array.from({ length: 20 }, async () => (await fetch()).text());
  expect(await Promise.all(all)).toEqual(all.map(() => 'begunended'));
  expect(most).toBe(2);
  expect(released).toBe(20);
});

it('a response of a limited call is one like any other', async () => {
  site.answering = (response) => {
    response.statusCode = 203;
    response.statusMessage = 'As You Like It';
    response.setHeader('set-cookie', ['a=1; Path=/', 'b=2']);
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    response.end('bödy');
  };
  const look = async (response: Response) => {
    const { status, statusText, ok, url, redirected, type, bodyUsed } = response;
    const headers = [...response.headers].filter(([name]) => name !== 'date');
    const cookies = response.headers.getSetCookie();
    const head = { status, statusText, ok, url, redirected, type, bodyUsed, headers, cookies };
    const isResponse = response instanceof Response && response.body instanceof ReadableStream;
    return { ...head, isResponse, text: await response.text(), usedThen: response.bodyUsed };
  };
  const plain = await globalThis.fetch(site.url('/#top'));
  const expected = [
    await look(plain.clone().clone()),
    await look(plain.clone()),
    await look(plain),
  ];
  const limited = await fetch({}, '/#top');
  expect([
    await look(limited.clone().clone()),
    await look(limited.clone()),
    await look(limited),
  ]).toEqual(expected);
  expect(Object.prototype.toString.call(limited)).toBe('[object Response]');
  await expect(limited.text()).rejects.toMatchObject({ name: 'TypeError' });
});

it('a response that cannot be made again is handed over as it is, and frees its slot', async () => {
  configure({
    default: { ...RULE, maxConcurrent: 1 },
    fetch: () => Promise.resolve(Response.error()),
  });
  for (let i = 0; i < 3; i++) {
    const { type } = await fetch({ timeoutMs: 1_000 });
    expect(type).toBe('error');
  }
});

it('a response of another copy of fetch stays of its class', async () => {
  class OtherResponse extends Response {}
  const body = () => new Blob(['other']).stream();
  configure({
    default: { ...RULE, maxConcurrent: 1 },
    fetch: () => Promise.resolve(new OtherResponse(body())),
  });
  for (let i = 0; i < 3; i++) {
    const response = await fetch({ timeoutMs: 1_000 });
    expect(response).toBeInstanceOf(OtherResponse);
    expect(await response.text()).toBe('other');
  }
});
