import 'reflect-metadata';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallHandler, CanActivate, NestInterceptor, Type } from '@nestjs/common';
import {
  Controller,
  Get,
  Module,
  Param,
  Res,
  Sse,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { map, Observable, race, retry, Subject } from 'rxjs';
import type { Phase, Return } from '../../lib/index.js';
import {
  InMemoryPlanRegistry,
  MemoryStore,
  RateLimit,
  RateLimiter,
  RateLimitModule,
} from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import type { HttpApp } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';
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
/** What tests and handlers tell each other. */
let signals: EventEmitter;
let runs: number;
let giveUp: Subject<void>;
let unsubscribed: number;

beforeEach(() => {
  store = new CountingStore(new FakeClock());
  signals = new EventEmitter();
  runs = 0;
  giveUp = new Subject();
  unsubscribed = 0;
});

afterEach(closeApps);

/** Works until the test says so. */
async function work(): Promise<string> {
  runs++;
  signals.emit('begun');
  await once(signals, 'end');
  return 'ok';
}

/** Answers in the place of a handler that takes too long. */
const impatient: NestInterceptor = {
  intercept: (_context, next: CallHandler) =>
    race(next.handle(), giveUp.pipe(map(() => 'too slow'))),
};

/** Calls a handler again that failed. */
const patient: NestInterceptor = {
  intercept: (_context, next: CallHandler) => next.handle().pipe(retry(1)),
};

/** Lets pass when the test says so. */
const guard: CanActivate = {
  canActivate: async () => {
    signals.emit('guarded');
    await once(signals, 'pass');
    return true;
  },
};

/** Emits nothing, and takes down that it is left. */
function quiet(): Observable<{ data: string }> {
  return new Observable(() => {
    signals.emit('begun');
    return () => void unsubscribed++;
  });
}

function controllerIn(phase: Phase): Type {
  const slot = RateLimit({ plan: 'slot', key: 'all', phase });

  @Controller()
  class SlotController {
    @Get('guarded')
    @UseGuards(guard)
    @slot
    guarded(): Promise<string> {
      return work();
    }

    @Get('impatient')
    @UseInterceptors(impatient)
    @slot
    impatient(): Promise<string> {
      return work();
    }

    @Get('retried')
    @UseInterceptors(impatient, patient)
    @slot
    async retried(): Promise<string> {
      if (runs++ === 0) throw new Error('once');
      return work();
    }

    @Get('query')
    @UseInterceptors(impatient)
    @slot
    query(): PromiseLike<string> {
      // As Mongoose does: awaited twice, it would be executed twice.
      return { then: (...callbacks) => work().then(...callbacks) };
    }

    @Get('reject')
    @slot
    async reject(): Promise<string> {
      await work();
      throw new Error('out of order');
    }

    @Get('observable')
    @slot
    observable(): Observable<unknown> {
      return quiet();
    }

    @Sse('events')
    @slot
    events(): Observable<{ data: string }> {
      return quiet();
    }

    @Sse('prepared')
    @slot
    async prepared(): Promise<Observable<{ data: string }>> {
      await work();
      return quiet();
    }

    @Get('response')
    @slot
    response(@Res() response: { raw?: ServerResponse; hijack?(): void } & ServerResponse): void {
      response.hijack?.();
      const raw = response.raw ?? response;
      runs++;
      void once(signals, 'end').then(() => raw.end('ok'));
      signals.emit('begun');
    }

    @Get('parameter/:id')
    @slot
    parameter(@Param('id') id: string): Promise<string> {
      return work().then(() => id);
    }
  }
  return SlotController;
}

/** Keeps nothing of the method that it replaces but its metadata. */
const logged: MethodDecorator = (_target, _name, descriptor) => {
  const method = descriptor.value as unknown as (...args: unknown[]) => unknown;
  const replacement = function (this: unknown, ...args: unknown[]): unknown {
    return method.apply(this, args);
  };
  for (const key of Reflect.getMetadataKeys(method)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, method), replacement);
  }
  descriptor.value = replacement as never;
};

/** Controllers that are limited in one place and have their handler in another. */
const inheritors: readonly { name: string; controller: () => Type }[] = [
  {
    name: 'inherited by a class that is limited',
    controller() {
      class Base {
        @Get('inherited')
        inherited(): Promise<string> {
          return work();
        }
      }
      @Controller()
      @UseInterceptors(impatient)
      @RateLimit({ plan: 'slot', key: 'all' })
      class InheritingController extends Base {}
      return InheritingController;
    },
  },
  {
    name: 'declared below a class that is limited',
    controller() {
      @RateLimit({ plan: 'slot', key: 'all' })
      abstract class Base {}
      @Controller()
      @UseInterceptors(impatient)
      class InheritingController extends Base {
        @Get('inherited')
        inherited(): Promise<string> {
          return work();
        }
      }
      return InheritingController;
    },
  },
  {
    name: 'overridden below a class that is limited',
    controller() {
      @RateLimit({ plan: 'slot', key: 'all' })
      abstract class Base {
        @Get('inherited')
        inherited(): Promise<string> {
          return Promise.resolve('');
        }
      }
      @Controller()
      @UseInterceptors(impatient)
      class InheritingController extends Base {
        @Get('inherited')
        override inherited(): Promise<string> {
          return work();
        }
      }
      return InheritingController;
    },
  },
  {
    name: 'limited themselves, in a base class',
    controller() {
      abstract class Base {
        @Get('inherited')
        @RateLimit({ plan: 'slot', key: 'all' })
        inherited(): Promise<string> {
          return work();
        }
      }
      @Controller()
      @UseInterceptors(impatient)
      class InheritingController extends Base {}
      return InheritingController;
    },
  },
  {
    name: 'replaced by a decorator of the user',
    controller() {
      @Controller()
      @UseInterceptors(impatient)
      class DecoratedController {
        @logged
        @RateLimit({ plan: 'slot', key: 'all' })
        @Get('inherited')
        inherited(): Promise<string> {
          return work();
        }
      }
      return DecoratedController;
    },
  },
];

const modules = (controller: Type) => ({
  imports: [RateLimitModule.forRoot({ plans: { slot: { maxConcurrent: 1 } }, store })],
  controllers: [controller],
});

async function free(app: HttpApp): Promise<number> {
  return (await app.provider(RateLimiter).peek('all', 'slot')).remainingTokens;
}

function nextConnectionClosed({ app }: HttpApp): Promise<unknown> {
  const server = app.getHttpServer() as EventEmitter;
  return once(server, 'connection').then(([socket]) => once(socket as EventEmitter, 'close'));
}

/** Asks, waits until the handler tells something, and hangs up. */
async function leave(app: HttpApp, path: string, when = 'begun'): Promise<void> {
  const told = once(signals, when);
  const closed = nextConnectionClosed(app);
  const exchange = app.open(path);
  await told;
  // Nest sends the head of events soon after, and fails where nobody is there to take it.
  if (path === '/events' || path === '/prepared') await exchange.status();
  exchange.abort();
  await closed;
  await new Promise(setImmediate);
}

describe.each(adapters)('a slot on %s', (adapter) => {
  describe.each(['guard', 'interceptor'] as const)('taken by the %s', (phase) => {
    let app: HttpApp;

    beforeEach(async () => {
      app = await startApp(adapter, modules(controllerIn(phase)));
    });

    const isFree = () => until('the slot is free', async () => (await free(app)) === 1);

    it.each(['/reject', '/parameter/7', '/prepared'])(
      'waits for the promise of a handler whose client is gone: %s',
      async (path) => {
        await leave(app, path);
        expect(await free(app)).toBe(0);
        expect(store.releases).toBe(0);
        signals.emit('end');
        await isFree();
        expect(store.releases).toBe(1);
      },
    );

    it.each(['/observable', '/events'])(
      'ends when the client leaves an observable: %s',
      async (path) => {
        await leave(app, path);
        await isFree();
        expect([unsubscribed, store.releases]).toEqual([1, 1]);
      },
    );

    it.each([
      ['/impatient', 1],
      ['/retried', 3],
      ['/query', 1],
    ])(
      'waits for a handler that an interceptor has stopped waiting for: %s',
      async (path, expectedRuns) => {
        const begun = once(signals, 'begun');
        const answer = app.get(path);
        await begun;
        giveUp.next();
        giveUp.complete();
        expect((await answer).status).toBe(200);
        expect(await free(app)).toBe(0);
        signals.emit('end');
        await isFree();
        expect([runs, store.releases]).toEqual([expectedRuns, 1]);
      },
    );

    it('waits for a response that the handler sends itself, later', async () => {
      const begun = once(signals, 'begun');
      const answer = app.get('/response');
      await begun;
      await new Promise(setImmediate);
      expect(await free(app)).toBe(0);
      signals.emit('end');
      expect((await answer).text).toBe('ok');
      await isFree();
      expect(store.releases).toBe(1);
    });

    it('ends with the client of a handler that has returned and answers later', async () => {
      await leave(app, '/response');
      await isFree();
      signals.emit('end');
      expect(store.releases).toBe(1);
    });

    it('that has ended before the handler began keeps it from running', async () => {
      await leave(app, '/guarded', 'guarded');
      signals.emit('pass');
      if (phase === 'guard') {
        await isFree();
        await new Promise(setImmediate);
      } else {
        await until('the slot was taken and given back', () => store.releases === 1);
      }
      expect(runs).toBe(0);
      expect(store.releases).toBe(1);
      expect(app.logs.errors).toEqual([]);
    });
  });

  it.each(inheritors)('waits for handlers: $name', async ({ controller }) => {
    const app = await startApp(adapter, modules(controller()));
    const begun = once(signals, 'begun');
    const answer = app.get('/inherited');
    await begun;
    giveUp.next();
    giveUp.complete();
    await answer;
    expect(await free(app)).toBe(0);
    signals.emit('end');
    await until('the slot is free', async () => (await free(app)) === 1);
    expect(store.releases).toBe(1);
  });

  it('ends with the response, and is told, where a plan lends only since the start', async () => {
    @Controller()
    class LateController {
      @Get('late')
      @RateLimit({ plan: 'late', key: 'all' })
      late(): Promise<string> {
        return work();
      }
    }
    const app = await startApp(adapter, {
      imports: [RateLimitModule.forRoot({ plans: { late: '100/s' }, store })],
      controllers: [LateController],
    });
    app.provider(InMemoryPlanRegistry).set('late', { maxConcurrent: 2 });
    await leave(app, '/late');
    await leave(app, '/late');
    expect(store.releases).toBe(2);
    signals.emit('end');
    expect(app.logs.warnings).toHaveLength(1);
    expect(app.logs.warnings[0]).toContain('SLOT_ENDS_EARLY: LateController.late');
  });
});

describe('a slot by HTTP/2', () => {
  it.each(['guard', 'interceptor'] as const)(
    'waits for the handler of a stream that is cancelled: %s',
    async (phase) => {
      class AppModule {}
      Module(modules(controllerIn(phase)))(AppModule);
      const app = await NestFactory.create(AppModule, new FastifyAdapter({ http2: true }), {
        logger: false,
      });
      await app.listen(0, '127.0.0.1');
      const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
      const client = connect(`http://127.0.0.1:${port}`);
      const begun = once(signals, 'begun');
      const stream = client.request({ ':path': '/parameter/7' }).resume();
      await begun;
      stream.close();
      await once(stream, 'close');
      const left = async () => (await app.get(RateLimiter).peek('all', 'slot')).remainingTokens;
      expect((await responseOf(client.request({ ':path': '/parameter/8' })))[':status']).toBe(429);
      expect(await left()).toBe(0);
      signals.emit('end');
      await until('the slot is free', async () => (await left()) === 1);
      expect(store.releases).toBe(1);
      client.destroy();
      await app.close();
    },
  );
});

async function responseOf(stream: EventEmitter): Promise<Record<string, unknown>> {
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  return headers;
}
