import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CanActivate, Type } from '@nestjs/common';
import { Controller, Get, Sse, UseGuards } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import type { Observable } from 'rxjs';
import { of } from 'rxjs';
import type { Phase, RateLimitOptions } from '../../lib/index.js';
import { RateLimit, RateLimiter, RateLimitModule } from '../../lib/index.js';
import { closeClients, connectSocketIo, connectWs } from '../support/gateway-clients.js';
import type { HttpApp } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';
import { sharedRedis, until } from '../support/redis-servers.js';

const SLOTS = 3;
const REQUESTS = 60;
/** When a client hangs up. */
const PATIENCE_MS = 30;
const HANDLER_MS = 300;

const STORES: readonly (readonly [string, () => RateLimitOptions])[] = [
  ['memory', () => ({})],
  [
    'Redis',
    () => ({ redis: sharedRedis.url, keyPrefix: `hang-up-${randomUUID()}`, deadlineMs: 10_000 }),
  ],
];

/** Handlers at work. */
let running: number;
let most: number;
let begun: number;

beforeEach(() => {
  running = 0;
  most = 0;
  begun = 0;
});

afterEach(async () => {
  await closeClients();
  await closeApps();
});

async function work(): Promise<string> {
  begun++;
  most = Math.max(most, ++running);
  await pause(HANDLER_MS);
  running--;
  return 'done';
}

/** As slow as a look-up of a session: clients are gone before it answers. */
const slowGuard: CanActivate = {
  canActivate: async () => {
    await pause(2 * PATIENCE_MS);
    return true;
  },
};

function controllerIn(phase: Phase): Type {
  const slot = RateLimit({ plan: 'slots', key: 'all', phase });

  @Controller()
  class WorkController {
    @Get('work')
    @slot
    work(): Promise<string> {
      return work();
    }

    @Get('guarded')
    @UseGuards(slowGuard)
    @slot
    guarded(): Promise<string> {
      return work();
    }

    @Sse('events')
    @slot
    async events(): Promise<Observable<{ data: string }>> {
      return of({ data: await work() });
    }
  }
  return WorkController;
}

const plans = { slots: { maxConcurrent: SLOTS } };

async function free(app: HttpApp): Promise<number> {
  return (await app.provider(RateLimiter).peek('all', 'slots')).remainingTokens;
}

/** Asks again and again, and never waits for the answer. */
async function hangUp(app: HttpApp, path: string): Promise<void> {
  for (let i = 0; i < REQUESTS; i += 10) {
    const exchanges = Array.from({ length: 10 }, () => app.open(path));
    await pause(PATIENCE_MS);
    for (const exchange of exchanges) exchange.abort();
  }
}

describe.each(adapters)('clients that hang up on %s', (adapter) => {
  describe.each(STORES)('with %s', (_store, options) => {
    it.each(['guard', 'interceptor'] as const)(
      'never run more handlers than there are slots: %s',
      async (phase) => {
        const app = await startApp(adapter, {
          imports: [RateLimitModule.forRoot({ plans, ...options() })],
          controllers: [controllerIn(phase)],
        });
        for (const path of ['/work', '/guarded', '/events']) {
          await hangUp(app, path);
          await until('all slots are free', async () => (await free(app)) === SLOTS);
        }
        expect(running).toBe(0);
        expect(most).toBe(SLOTS);
        expect(begun).toBeGreaterThanOrEqual(SLOTS);
      },
    );
  });
});

describe.each([
  ['socket.io', IoAdapter, connectSocketIo],
  ['ws', WsAdapter, connectWs],
] as const)('clients that disconnect from a gateway by %s', (_name, Adapter, connect) => {
  it('never run more handlers than there are slots', async () => {
    @WebSocketGateway()
    class WorkGateway {
      @SubscribeMessage('work')
      @RateLimit({ plan: 'slots', key: 'all', phase: 'interceptor' })
      work(): Promise<string> {
        return work();
      }
    }
    const app = await startApp(
      'express',
      { imports: [RateLimitModule.forRoot({ plans })], providers: [WorkGateway] },
      { configure: (one) => one.useWebSocketAdapter(new Adapter(one)) },
    );
    const { port } = (app.app.getHttpServer() as { address(): AddressInfo }).address();
    for (let i = 0; i < 20; i++) {
      const client = await connect(port);
      client.send('work');
      client.send('work');
      await pause(PATIENCE_MS / 2);
      client.close();
    }
    await until('all slots are free', async () => (await free(app)) === SLOTS);
    expect(running).toBe(0);
    expect(most).toBe(SLOTS);
  });
});
