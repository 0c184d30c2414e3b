import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { WebSocketGateway } from '@nestjs/websockets';
import type { RateLimitOptions } from '../../lib/index.js';
import { InMemoryPlanRegistry, RateLimit, RateLimiter, RateLimitModule } from '../../lib/index.js';
import { closeClients, connectWs } from '../support/gateway-clients.js';
import type { HttpApp } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';
import { sharedRedis, until } from '../support/redis-servers.js';

const MAX_HOLD_MS = 200;
const plans = { brief: { maxConcurrent: 1, maxHoldMs: MAX_HOLD_MS } };

const STORES: readonly (readonly [string, () => RateLimitOptions])[] = [
  ['memory', () => ({ plans })],
  ['Redis', () => ({ plans, redis: sharedRedis.url, keyPrefix: randomUUID(), deadlineMs: 10_000 })],
];

let signals: EventEmitter;
/** Handlers that have ended. */
let ended: number;

beforeEach(() => {
  signals = new EventEmitter();
  ended = 0;
});

afterEach(async () => {
  await closeClients();
  await closeApps();
});

async function work(): Promise<string> {
  const end = once(signals, 'end');
  signals.emit('begun');
  await end;
  ended++;
  return 'done';
}

@Controller()
class WorkController {
  @Get('guard')
  @RateLimit({ plan: 'brief', key: 'all', phase: 'guard' })
  guard(): Promise<string> {
    return work();
  }

  @Get('interceptor')
  @RateLimit({ plan: 'brief', key: 'all', phase: 'interceptor' })
  interceptor(): Promise<string> {
    return work();
  }
}

async function free(app: HttpApp): Promise<number> {
  return (await app.provider(RateLimiter).peek('all', 'brief')).remainingTokens;
}

const untilFree = (app: HttpApp) => until('the slot is free', async () => (await free(app)) === 1);

const warningsOf = ({ logs }: HttpApp) =>
  logs.warnings.filter((line) => line.startsWith('SLOT_HELD_TOO_LONG'));

describe.each(STORES)('maxHoldMs with %s', (_store, options) => {
  it.each(adapters)('gives back the slots of handlers that never end: %s', async (adapter) => {
    const app = await startApp(adapter, {
      imports: [RateLimitModule.forRoot(options())],
      controllers: [WorkController],
    });
    for (const path of ['/guard', '/interceptor', '/guard']) {
      const begun = once(signals, 'begun');
      app.open(path);
      await begun;
      await untilFree(app);
    }
    // A slot that others hold by now is not given back by handlers that end late.
    app.provider(InMemoryPlanRegistry).set('brief', { maxConcurrent: 1 });
    const lease = await app.provider(RateLimiter).acquire('all', { plan: 'brief' });
    signals.emit('end');
    await until('all have ended', () => ended === 3);
    await new Promise(setImmediate);
    expect(lease.held).toBeDefined();
    expect(await free(app)).toBe(0);
    await lease.release();
    expect(warningsOf(app).map((line) => line.slice(0, line.indexOf('. ')))).toEqual([
      'SLOT_HELD_TOO_LONG: WorkController.guard, plan "brief"',
      'SLOT_HELD_TOO_LONG: WorkController.interceptor, plan "brief"',
    ]);
  });

  it('gives back the slots of code, and names the line', async () => {
    const app = await startApp('express', { imports: [RateLimitModule.forRoot(options())] });
    const lease = await app.provider(RateLimiter).acquire('all', 'brief');
    await untilFree(app);
    expect(lease.held).toBeUndefined();
    app.provider(InMemoryPlanRegistry).set('brief', { maxConcurrent: 1 });
    const other = await app.provider(RateLimiter).acquire('all', 'brief');
    await lease.release();
    expect(await free(app)).toBe(0);
    await other.release();
    expect(warningsOf(app)).toHaveLength(1);
    expect(warningsOf(app)[0]).toContain('max-hold.e2e.spec.ts');
  });
});

it('maxHoldMs leaves connections of gateways alone', async () => {
  @WebSocketGateway()
  class BriefGateway {
    @RateLimit({ plan: 'brief', key: 'all' })
    handleConnection(): void {}
  }
  const app = await startApp(
    'express',
    { imports: [RateLimitModule.forRoot({ plans })], providers: [BriefGateway] },
    { configure: (one) => one.useWebSocketAdapter(new WsAdapter(one)) },
  );
  const { port } = (app.app.getHttpServer() as { address(): AddressInfo }).address();
  const client = await connectWs(port);
  await until('it is admitted', async () => (await free(app)) === 0);
  await pause(2 * MAX_HOLD_MS);
  expect(await free(app)).toBe(0);
  client.close();
  await untilFree(app);
  expect(warningsOf(app)).toEqual([]);
});
