import 'reflect-metadata';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type {
  CallHandler,
  CanActivate,
  NestInterceptor,
  PipeTransform,
  Type,
} from '@nestjs/common';
import {
  BadRequestException,
  Controller,
  Get,
  Query,
  Res,
  Sse,
  StreamableFile,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { defer, from, Observable, Subject, switchMap } from 'rxjs';
import type { Phase, Return } from '../../lib/index.js';
import { MemoryStore, RateLimit, RateLimiter, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import type { PlatformApp } from '../support/platforms.js';
import { PLATFORMS, startOn } from '../support/platforms.js';
import { until } from '../support/redis-servers.js';

/** Counts what is given back. */
class CountingStore extends MemoryStore {
  releases = 0;

  override giveBack(returned: Return): boolean {
    if (returned.kind === 'release') this.releases++;
    return super.giveBack(returned);
  }
}

let store: CountingStore;
let app: PlatformApp;
/** `begun` by what is on the way to the answer, `end` by the test. */
let signals: EventEmitter;
/** How many handlers have begun. */
let runs: number;
/** The slots that were free while handlers ran. */
let freeInRuns: number[];

beforeEach(() => {
  store = new CountingStore(new FakeClock());
  signals = new EventEmitter();
  runs = 0;
  freeInRuns = [];
});

afterEach(() => app.app.close());

/** Works until the test says so. */
async function work(): Promise<string> {
  const end = once(signals, 'end');
  signals.emit('begun');
  await end;
  return 'done';
}

async function fail(): Promise<never> {
  await work();
  throw new BadRequestException();
}

/** A handler that looks whether its slot is held. */
async function run(): Promise<void> {
  runs++;
  freeInRuns.push(await free());
}

const failingPipe: PipeTransform = { transform: fail };
const slowPipe: PipeTransform = { transform: work };
const failingGuard: CanActivate = { canActivate: fail };
const slowGuard: CanActivate = { canActivate: async () => Boolean(await work()) };
const failingInterceptor: NestInterceptor = { intercept: fail };
/** Answers in the place of the handler. */
const cachingInterceptor: NestInterceptor = { intercept: () => defer(() => from(work())) };
const slowInterceptor: NestInterceptor = {
  intercept: (_context, next: CallHandler) => from(work()).pipe(switchMap(() => next.handle())),
};

type Reply = ServerResponse & { raw?: ServerResponse; hijack?(): void; send(text: string): void };

/** What Node sends, once the platform keeps its hands off. */
function hijacked(reply: Reply): ServerResponse {
  reply.hijack?.();
  return reply.raw ?? reply;
}

function controllerIn(phase: Phase): Type {
  const slot = RateLimit({ plan: 'slot', key: 'all', phase });

  @Controller()
  class SlotController {
    @Get('promise')
    @slot
    promise(): Promise<string> {
      runs++;
      return work();
    }

    @Get('rejection')
    @slot
    rejection(): Promise<never> {
      runs++;
      return fail();
    }

    @Get('response')
    @slot
    async response(@Res() reply: Reply): Promise<void> {
      runs++;
      reply.send(await work());
    }

    @Get('passthrough')
    @slot
    passthrough(@Res({ passthrough: true }) _reply: Reply): Promise<string> {
      runs++;
      return work();
    }

    @Get('hijacked')
    @slot
    async hijacked(@Res() reply: Reply): Promise<void> {
      runs++;
      const raw = hijacked(reply);
      raw.end(await work());
    }

    @Get('hijacked-later')
    @slot
    hijackedLater(@Res() reply: Reply): void {
      runs++;
      const raw = hijacked(reply);
      raw.write('begun');
      void work().then((text) => raw.end(text));
    }

    @Get('stream')
    @slot
    stream(): StreamableFile {
      runs++;
      const stream = new Readable({ read: () => undefined });
      stream.push('begun');
      void work().then(() => stream.push(null));
      return new StreamableFile(stream);
    }

    @Get('broken-stream')
    @slot
    brokenStream(): StreamableFile {
      runs++;
      const stream = new Readable({ read: () => undefined });
      stream.push('begun');
      void work().then(() => stream.destroy(new Error('unreadable')));
      return new StreamableFile(stream).setErrorLogger(() => undefined);
    }

    @Sse('events')
    @slot
    events(): Observable<{ data: string }> {
      runs++;
      const events = new Subject<{ data: string }>();
      void work().then(() => events.complete());
      return new Observable((subscriber) => {
        subscriber.next({ data: 'begun' });
        return events.subscribe(subscriber);
      });
    }

    @Sse('prepared-events')
    @slot
    async preparedEvents(): Promise<Observable<{ data: string }>> {
      runs++;
      return from([{ data: await work() }]);
    }

    @Get('throw')
    @slot
    throw(): never {
      runs++;
      throw new BadRequestException();
    }

    @Get('failing-pipe')
    @slot
    failingPipe(@Query('id', failingPipe) _id: string): Promise<void> {
      return run();
    }

    @Get('slow-pipe')
    @slot
    slowPipe(@Query('id', slowPipe) _id: string): Promise<void> {
      return run();
    }

    @Get('failing-guard')
    @UseGuards(failingGuard)
    @slot
    failingGuard(): Promise<void> {
      return run();
    }

    @Get('slow-guard')
    @UseGuards(slowGuard)
    @slot
    slowGuard(): Promise<void> {
      return run();
    }

    @Get('failing-interceptor')
    @UseInterceptors(failingInterceptor)
    @slot
    failingInterceptor(): Promise<void> {
      return run();
    }

    @Get('caching-interceptor')
    @UseInterceptors(cachingInterceptor)
    @slot
    cachingInterceptor(): Promise<void> {
      return run();
    }

    @Get('slow-interceptor')
    @UseInterceptors(slowInterceptor)
    @slot
    slowInterceptor(): Promise<void> {
      return run();
    }
  }
  return SlotController;
}

async function free(): Promise<number> {
  return (await app.app.get(RateLimiter).peek('all', 'slot')).remainingTokens;
}

const untilFree = () => until('the slot is free', async () => (await free()) === 1);
const turn = () => new Promise(setImmediate);

/** Handlers that work until the test says so, and what they are then answered with. */
const WORKING: readonly (readonly [path: string, status: number])[] = [
  ['promise', 200],
  ['rejection', 400],
  ['response', 200],
  ['passthrough', 200],
  ['hijacked', 200],
  ['prepared-events', 200],
];

/** Responses that go on when their handler has returned. */
const FLOWING = ['hijacked-later', 'stream', 'broken-stream', 'events'];

/** What comes before the handler, and may keep it from running. */
const BEFORE: readonly (readonly [path: string, status: number, runs: number])[] = [
  ['failing-pipe', 400, 0],
  ['slow-pipe', 200, 1],
  ['failing-guard', 400, 0],
  ['slow-guard', 200, 1],
  ['failing-interceptor', 400, 0],
  ['caching-interceptor', 200, 0],
  ['slow-interceptor', 200, 1],
];

describe.each(PLATFORMS)('a slot on $name', (platform) => {
  describe.each(['guard', 'interceptor'] as const)('taken by the %s', (phase) => {
    beforeEach(async () => {
      app = await startOn(platform, {
        imports: [RateLimitModule.forRoot({ plans: { slot: { maxConcurrent: 1 } }, store })],
        controllers: [controllerIn(phase)],
      });
    });

    afterEach(async () => {
      await untilFree();
      // Later than anything that could give it back again.
      await turn();
      await turn();
      expect(store.releases).toBeLessThanOrEqual(1);
    });

    it.each(WORKING)(
      'is held while a handler works, and free afterwards: %s',
      async (path, status) => {
        const begun = once(signals, 'begun');
        const call = app.call(`/${path}`);
        await begun;
        expect(await free()).toBe(0);
        expect(await app.call(`/${path}`).status).toBe(429);
        signals.emit('end');
        expect(await call.status).toBe(status);
        await call.text;
        await untilFree();
        expect([runs, store.releases]).toEqual([1, 1]);
      },
    );

    it.each(WORKING)('is held while a handler works whose client has left: %s', async (path) => {
      const begun = once(signals, 'begun');
      const over = app.nextOver();
      const call = app.call(`/${path}`);
      await begun;
      if (path === 'prepared-events') await call.status;
      call.leave();
      await over;
      await turn();
      expect([await free(), store.releases]).toEqual([0, 0]);
      signals.emit('end');
      await untilFree();
      expect([runs, store.releases]).toEqual([1, 1]);
    });

    it.each(FLOWING)(
      'is held while the response goes on, and free afterwards: %s',
      async (path) => {
        const begun = once(signals, 'begun');
        const call = app.call(`/${path}`);
        await begun;
        expect(await call.status).toBe(200);
        await turn();
        expect([await free(), store.releases]).toEqual([0, 0]);
        signals.emit('end');
        await call.text.catch(() => undefined);
        await untilFree();
        expect([runs, store.releases]).toEqual([1, 1]);
      },
    );

    it.each(FLOWING)('is free once the client has left such a response: %s', async (path) => {
      const begun = once(signals, 'begun');
      const call = app.call(`/${path}`);
      await begun;
      await call.status;
      call.leave();
      await untilFree();
      signals.emit('end');
      await turn();
      expect([runs, store.releases]).toEqual([1, 1]);
    });

    it('is free after a handler that throws', async () => {
      expect(await app.call('/throw').status).toBe(400);
      await untilFree();
      expect([runs, store.releases]).toEqual([1, 1]);
    });

    it.each(BEFORE)(
      'is free after what comes before the handler: %s',
      async (path, status, ran) => {
        const begun = once(signals, 'begun');
        const call = app.call(`/${path}`);
        await begun;
        // Guards run before the interceptor takes anything.
        const isTaken = phase === 'guard' || !path.endsWith('guard');
        expect(await free()).toBe(isTaken ? 0 : 1);
        signals.emit('end');
        expect(await call.status).toBe(status);
        await call.text;
        await untilFree();
        expect(freeInRuns).toEqual(Array<number>(ran).fill(0));
        expect(store.releases).toBe(isTaken || status === 200 ? 1 : 0);
      },
    );

    it.each(BEFORE)('is held in any handler whose client left before it: %s', async (path) => {
      const begun = once(signals, 'begun');
      const over = app.nextOver();
      const call = app.call(`/${path}`);
      await begun;
      call.leave();
      await over;
      signals.emit('end');
      await untilFree();
      await turn();
      await turn();
      expect(freeInRuns).toEqual(runs === 0 ? [] : [0]);
      expect(app.logs.errors).toEqual([]);
    });
  });
});
