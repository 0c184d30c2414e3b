import 'reflect-metadata';
import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { CanActivate, Type } from '@nestjs/common';
import {
  Controller,
  Get,
  Param,
  ParseIntPipe,
  Sse,
  StreamableFile,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { Subject } from 'rxjs';
import type {
  Decision,
  HeldLease,
  Inquiry,
  Phase,
  PlanDefinition,
  RateLimitOptions,
  Return,
} from '../../lib/index.js';
import { MemoryStore, RateLimit, RateLimiter, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import type { HttpApp } from '../support/http-app.js';
import { adapters, closeApps, fakeIntervals, startApp } from '../support/http-app.js';

const LEASE_MS = 60_000;

const PLANS = {
  slot: { maxConcurrent: 1, leaseMs: LEASE_MS },
  other: { maxConcurrent: 1 },
  one: { capacity: 1, tokensPerSecond: 0.1 },
} satisfies Record<string, PlanDefinition>;

/** Counts what is given back, and tells those who wait for it. */
class CountingStore extends MemoryStore {
  releases = 0;
  renewals = 0;
  readonly #events = new EventEmitter();

  override giveBack(returned: Return): boolean {
    const cameBack = super.giveBack(returned);
    if (returned.kind === 'release') {
      this.releases++;
      this.#events.emit('release');
    }
    return cameBack;
  }

  override renew(leases: readonly HeldLease[]): boolean[] {
    this.renewals++;
    return super.renew(leases);
  }

  /** Resolves once so many releases have come. */
  async released(count: number): Promise<void> {
    while (this.releases < count) await once(this.#events, 'release');
  }
}

/** Answers when it is let to. */
class SlowStore extends CountingStore {
  readonly asked = new Gate();
  readonly answer = new Gate();

  override decide(inquiry: Inquiry): Decision {
    this.asked.open();
    return this.answer.opened.then(() => super.decide(inquiry)) as unknown as Decision;
  }
}

/** A promise that somebody else keeps. */
class Gate {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

const nobody: CanActivate = {
  canActivate: () => {
    throw new UnauthorizedException();
  },
};

let clock: FakeClock;
let store: CountingStore;
/** Opened by a handler when it starts. */
let started: Gate;
/** Opened by a test to let the handler go on. */
let goOn: Gate;
let stream: Readable;
let events: Subject<{ data: string }>;

beforeEach(() => {
  clock = new FakeClock();
  store = new CountingStore(clock);
  started = new Gate();
  goOn = new Gate();
  stream = new Readable({ read: () => {} });
  events = new Subject();
});

afterEach(async () => {
  goOn.open();
  await closeApps();
  jest.useRealTimers();
});

/** Routes that all need the same slot. */
function controllerIn(phase: Phase): Type {
  const slot = RateLimit({ plan: 'slot', phase });

  @Controller()
  class SlotController {
    @Get('quick')
    @slot
    quick(): string {
      return 'ok';
    }

    @Get('hold')
    @slot
    async hold(): Promise<string> {
      started.open();
      await goOn.opened;
      return 'ok';
    }

    @Get('fail')
    @slot
    fail(): never {
      throw new Error('out of order');
    }

    @Get('number/:id')
    @slot
    number(@Param('id', ParseIntPipe) id: number): number {
      return id;
    }

    @Get('private')
    @UseGuards(nobody)
    @slot
    private(): string {
      return 'ok';
    }

    @Get('stream')
    @slot
    stream(): StreamableFile {
      return new StreamableFile(stream);
    }

    @Sse('events')
    @slot
    events(): Observable<{ data: string }> {
      return events;
    }

    @Get('waiting')
    @RateLimit({
      plan: 'slot',
      // A socket that is closed has no address any more.
      key: 'all',
      phase,
      tokens: async () => {
        started.open();
        await goOn.opened;
        return 1;
      },
    })
    waiting(): string {
      return 'ok';
    }

    @Get('chain')
    @RateLimit({ plan: ['slot', 'one'], phase })
    chain(): string {
      return 'ok';
    }
  }
  return SlotController;
}

describe.each(adapters)('slots on %s', (adapter) => {
  function start(controller: Type, options: RateLimitOptions = {}): Promise<HttpApp> {
    return startApp(adapter, {
      imports: [RateLimitModule.forRoot({ plans: PLANS, store, ...options })],
      controllers: [controller],
    });
  }

  /** The server's side of every connection that is made from now on. */
  function nextConnectionClosed({ app }: HttpApp): Promise<unknown> {
    const server = app.getHttpServer() as EventEmitter;
    return once(server, 'connection').then(([socket]) => once(socket as EventEmitter, 'close'));
  }

  /** Nothing more comes once the application is closed. */
  async function releasesInAll({ app }: HttpApp): Promise<number> {
    goOn.open();
    await app.close();
    return store.releases;
  }

  describe.each(['guard', 'interceptor'] as const)('taken by the %s', (phase) => {
    const controller = controllerIn(phase);

    it('are held while the handler runs', async () => {
      const app = await start(controller);
      const held = app.open('/hold');
      await started.opened;
      expect(await app.statuses(2, '/quick')).toEqual([429, 429]);
      expect(await app.statuses(1, '/quick', { from: '127.0.0.2' })).toEqual([200]);
      goOn.open();
      expect((await held.answer()).status).toBe(200);
      await store.released(2);
      expect(await app.statuses(2, '/quick')).toEqual([200, 200]);
    });

    it('are given back once the handler is done', async () => {
      const app = await start(controller);
      expect(await app.statuses(1, '/quick')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(1);
    });

    it('are given back when the handler throws', async () => {
      const app = await start(controller);
      expect(await app.statuses(2, '/fail')).toEqual([500, 500]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are given back when a pipe throws', async () => {
      const app = await start(controller);
      expect(await app.statuses(2, '/number/x')).toEqual([400, 400]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are given back, or never taken, when another guard answers 401', async () => {
      const app = await start(controller);
      expect(await app.statuses(2, '/private')).toEqual([401, 401]);
      expect(await app.statuses(1, '/quick')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(phase === 'guard' ? 3 : 1);
    });

    it('are not taken by a request that another plan denies', async () => {
      const app = await start(controller);
      expect(await app.statuses(2, '/chain')).toEqual([200, 429]);
      expect((await app.provider(RateLimiter).peek('ip:127.0.0.1', 'slot')).remainingTokens).toBe(
        1,
      );
      expect(await releasesInAll(app)).toBe(1);
    });

    it('are held until the handler of a client that is gone has ended', async () => {
      const app = await start(controller);
      const closed = nextConnectionClosed(app);
      const held = app.open('/hold');
      await started.opened;
      held.abort();
      await closed;
      expect(await app.statuses(2, '/quick')).toEqual([429, 429]);
      expect(store.releases).toBe(0);
      goOn.open();
      await store.released(1);
      expect(await app.statuses(1, '/quick')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are given back when the client was gone before they were taken', async () => {
      const app = await start(controller);
      const closed = nextConnectionClosed(app);
      const waiting = app.open('/waiting');
      await started.opened;
      waiting.abort();
      await closed;
      expect(store.releases).toBe(0);
      goOn.open();
      await store.released(1);
      expect(await app.statuses(1, '/waiting')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are given back when the client was gone before the store answered', async () => {
      const slow = new SlowStore(clock);
      store = slow;
      const app = await start(controller);
      const closed = nextConnectionClosed(app);
      const waiting = app.open('/quick');
      await slow.asked.opened;
      waiting.abort();
      await closed;
      slow.answer.open();
      await store.released(1);
      expect(await app.statuses(1, '/quick')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are held until a stream has ended', async () => {
      const app = await start(controller);
      const streaming = app.open('/stream');
      stream.push('first');
      await streaming.reads('first');
      expect(await app.statuses(1, '/quick')).toEqual([429]);
      stream.push('last');
      stream.push(null);
      expect((await streaming.answer()).text).toBe('last');
      await store.released(1);
      expect(await app.statuses(1, '/quick')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are given back when a stream is left midway', async () => {
      const app = await start(controller);
      const streaming = app.open('/stream');
      stream.push('first');
      await streaming.reads('first');
      streaming.abort();
      await store.released(1);
      expect(await app.statuses(1, '/quick')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are given back when a stream fails midway', async () => {
      const app = await start(controller);
      const streaming = app.open('/stream');
      stream.push('first');
      await streaming.reads('first');
      stream.destroy(new Error('disk away'));
      await store.released(1);
      await expect(streaming.answer()).rejects.toThrow('aborted');
      expect(await app.statuses(1, '/quick')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are held until the client of server-sent events goes', async () => {
      const app = await start(controller);
      const listening = app.open('/events');
      expect(await listening.status()).toBe(200);
      events.next({ data: 'first' });
      await listening.reads('data: first');
      expect(await app.statuses(1, '/quick')).toEqual([429]);
      expect(await app.statuses(1, '/events')).toEqual([429]);
      listening.abort();
      await store.released(1);
      expect(await app.statuses(1, '/quick')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are held until server-sent events end', async () => {
      const app = await start(controller);
      const listening = app.open('/events');
      expect(await listening.status()).toBe(200);
      expect(await app.statuses(1, '/quick')).toEqual([429]);
      events.complete();
      await listening.answer();
      await store.released(1);
      expect(await app.statuses(1, '/quick')).toEqual([200]);
      expect(await releasesInAll(app)).toBe(2);
    });

    it('are renewed while they are held, however long that takes', async () => {
      fakeIntervals();
      const idle = jest.getTimerCount();
      const app = await start(controller);
      const held = app.open('/hold');
      await started.opened;
      expect(jest.getTimerCount()).toBe(idle + 1);
      for (let i = 0; i < 10; i++) {
        clock.advanceMs(LEASE_MS / 3);
        await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
      }
      expect(store.renewals).toBe(10);
      expect(await app.statuses(1, '/quick')).toEqual([429]);
      goOn.open();
      expect((await held.answer()).status).toBe(200);
      await store.released(1);
      await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
      expect(jest.getTimerCount()).toBe(idle);
      expect(await app.statuses(1, '/quick')).toEqual([200]);
    });
  });

  it('of both phases are all given back', async () => {
    @Controller()
    class BothController {
      @Get()
      @RateLimit('slot')
      @RateLimit({ plan: 'other', key: () => 'x' })
      hello(): string {
        return 'ok';
      }
    }
    const app = await start(BothController);
    expect(await app.statuses(2, '/')).toEqual([200, 200]);
    expect(await releasesInAll(app)).toBe(4);
  });

  it('of the guard are given back when the interceptor denies', async () => {
    @Controller()
    class BothController {
      @Get()
      @RateLimit('slot')
      @RateLimit({ plan: 'one', key: () => 'x' })
      hello(): string {
        return 'ok';
      }
    }
    const app = await start(BothController);
    expect(await app.statuses(2, '/')).toEqual([200, 429]);
    expect(await releasesInAll(app)).toBe(2);
  });
});
