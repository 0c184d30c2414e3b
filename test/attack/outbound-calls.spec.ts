import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { compileLib } from '../support/compiled-lib.mjs';
import { HttpSite } from '../support/http-site.js';

const ELSEWHERE = '127.0.0.2';

let site: HttpSite;

beforeEach(async () => {
  site = await HttpSite.start();
});

afterEach(() => HttpSite.closeAll());

/** Calls the site from another process, and tells what it said. */
async function call(options: { outbound: object; calls: number; drops?: boolean }) {
  const task = JSON.stringify({ ...options, lib: compileLib(), url: site.url() });
  const child = fork('test/attack/outbound-calls.mjs', [task], { execArgv: ['--expose-gc'] });
  const [told] = (await once(child, 'message')) as [{ calls: number; failures: object }];
  await once(child, 'exit');
  return told;
}

/** Begins a body of which nobody sees the end, and notes how many are open at most. */
function serveBodies(end: (response: ServerResponse) => void): { most: number } {
  const open = new Set<ServerResponse>();
  const seen = { most: 0 };
  site.answering = (response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.write('x'.repeat(100));
    open.add(response);
    seen.most = Math.max(seen.most, open.size);
    response.on('close', () => open.delete(response));
    response.on('finish', () => open.delete(response));
    end(response);
  };
  return seen;
}

const TWO_AT_ONCE = {
  default: { requestsPerSecond: 1_000, burstCapacity: 1_000, maxConcurrent: 2 },
};

it('a site that sends its bodies slowly has no more of them open than it allows', async () => {
  const seen = serveBodies((response) => setTimeout(() => response.end('end'), 50));
  expect(await call({ outbound: TWO_AT_ONCE, calls: 20 })).toEqual({ calls: 20, failures: {} });
  expect(seen.most).toBe(2);
});

it('responses that are dropped without being read hold nobody up, and are ended', async () => {
  const seen = serveBodies(() => undefined);
  const told = await call({ outbound: TWO_AT_ONCE, calls: 10, drops: true });
  expect(told).toEqual({ calls: 10, failures: {} });
  // The next two may arrive before the site hears that the last two have gone.
  expect(seen.most).toBeLessThanOrEqual(4);
  expect(site.brokenOff).toBe(10);
});

it('a site that sends its callers elsewhere does not get more out of them', async () => {
  site.answering = (response, { path }) => {
    if (path !== '/there') response.writeHead(302, { location: site.url('/there', ELSEWHERE) });
    response.end('there');
  };
  const outbound = {
    default: { requestsPerSecond: 1_000, burstCapacity: 1_000 },
    domains: { [ELSEWHERE]: { requestsPerSecond: 0.02, burstCapacity: 1 } },
  };
  const told = await call({ outbound, calls: 20 });
  expect(told).toEqual({ calls: 1, failures: { WAIT_TIMED_OUT: 19 } });
  expect(site.received.filter(({ path }) => path === '/there')).toHaveLength(1);
});
