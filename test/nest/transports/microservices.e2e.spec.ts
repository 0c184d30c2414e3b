import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type {
  CanActivate,
  ExecutionContext,
  INestMicroservice,
  ModuleMetadata,
  Type,
} from '@nestjs/common';
import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import type { ClientProxy, MicroserviceOptions } from '@nestjs/microservices';
import {
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Payload,
  Transport,
} from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import type { ChainOptions, MessageRequest, PlanLinks } from '../../../lib/index.js';
import { RateLimit, RateLimiter, RateLimitModule } from '../../../lib/index.js';
import { FakeClock } from '../../support/fake-clock.js';
import { closeApps, LogLines, startApp } from '../../support/http-app.js';
import { freePort, sharedRedis, until } from '../../support/redis-servers.js';

const PLANS = {
  two: { capacity: 2, tokensPerSecond: 0.1 },
  five: { capacity: 5, tokensPerSecond: 0.1 },
  one: { maxConcurrent: 1 },
};

/** What the tests send. */
interface Order {
  readonly tenant: string;
  readonly items?: number;
}

interface OrderMessage extends MessageRequest {
  readonly data: Order;
}

const tenant = ({ data }: OrderMessage) => data.tenant;

/** Believes whatever tenant the message names. */
class Authentication implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const rpc = context.switchToRpc();
    rpc.getContext<{ user?: unknown }>().user = { id: rpc.getData<Order>().tenant };
    return true;
  }
}

/** A controller with one limited message, which no other test of this machine listens to. */
function limited(options: PlanLinks | ChainOptions, guards: Type<CanActivate>[] = []) {
  const pattern = `order-${process.pid}-${Math.random()}`;
  @Controller()
  class OrderController {
    @MessagePattern(pattern)
    @UseGuards(...guards)
    @RateLimit(options)
    order(@Payload() { tenant }: Order): string {
      return `ordered by ${tenant}`;
    }
  }
  return { pattern, controller: OrderController as Type };
}

let clock: FakeClock;
const running: { close(): unknown }[] = [];

beforeEach(() => {
  clock = new FakeClock();
});

afterEach(async () => {
  for (const one of running.splice(0)) await one.close();
  await closeApps();
});

async function tcp(): Promise<MicroserviceOptions> {
  return { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } };
}

function redis(): Promise<MicroserviceOptions> {
  const { hostname, port } = new URL(sharedRedis.url);
  return Promise.resolve({
    transport: Transport.REDIS,
    options: { host: hostname, port: Number(port) },
  });
}

function connect(options: MicroserviceOptions): ClientProxy {
  const client = ClientProxyFactory.create(options as object);
  running.push(client);
  return client;
}

/** What came back, or what was thrown. */
function ask(client: ClientProxy, pattern: string, data: unknown): Promise<unknown> {
  return lastValueFrom(client.send<unknown>(pattern, data)).catch((error: unknown) => error);
}

describe.each([
  ['TCP', tcp],
  ['Redis', redis],
] as const)('messages by %s', (name, transport) => {
  async function start(
    controller: Type,
    metadata: ModuleMetadata = {},
  ): Promise<{ service: INestMicroservice; client: ClientProxy; logs: LogLines }> {
    @Module({
      imports: [RateLimitModule.forRoot({ plans: PLANS, clock })],
      controllers: [controller],
      ...metadata,
    })
    class ServiceModule {}
    const logs = new LogLines();
    const options = await transport();
    const service = await NestFactory.createMicroservice<MicroserviceOptions>(ServiceModule, {
      ...options,
      logger: logs,
      abortOnError: false,
    });
    running.push(service);
    await service.listen();
    return { service, client: connect(options), logs };
  }

  async function left(service: INestMicroservice, key: string, plan: string): Promise<number> {
    return (await service.get(RateLimiter).peek(key, plan)).remainingTokens;
  }

  it('are charged once, by a key that a function finds in them', async () => {
    const { controller, pattern } = limited({ plan: 'five', key: tenant });
    const { service, client } = await start(controller);
    expect(await ask(client, pattern, { tenant: 'ada' })).toBe('ordered by ada');
    expect(await left(service, 'function.tenant:ada', 'five')).toBe(4);
    expect(await left(service, 'function.tenant:bob', 'five')).toBe(5);
  });

  it('cost what a function of them says', async () => {
    const items = ({ data }: OrderMessage) => data.items!;
    const { controller, pattern } = limited({ plan: 'five', key: tenant, tokens: items });
    const { service, client } = await start(controller);
    await ask(client, pattern, { tenant: 'ada', items: 3 });
    expect(await left(service, 'function.tenant:ada', 'five')).toBe(2);
  });

  it('that are too many are refused with the plan and the wait', async () => {
    const { controller, pattern } = limited({ plan: 'two', key: tenant });
    const { client } = await start(controller);
    for (let i = 0; i < 2; i++) await ask(client, pattern, { tenant: 'ada' });
    expect(await ask(client, pattern, { tenant: 'ada' })).toEqual({
      status: 'error',
      code: 'RATE_LIMITED',
      message: 'Rate limit exceeded. Retry in 10 s.',
      plans: ['two'],
      retryAfterMs: 10_000,
    });
    expect(await ask(client, pattern, { tenant: 'bob' })).toBe('ordered by bob');
    clock.advanceMs(10_000);
    expect(await ask(client, pattern, { tenant: 'ada' })).toBe('ordered by ada');
  });

  it('count for whom a guard has recognised, and for nobody that they name themselves', async () => {
    const chain = { plan: 'five', key: 'principal', onMissingKey: 'skip' } as const;
    const known = limited(chain, [Authentication]);
    const { service, client } = await start(known.controller);
    await ask(client, known.pattern, { tenant: 'ada' });
    expect(await left(service, 'principal:ada', 'five')).toBe(4);
    const unknown = limited(chain);
    const other = await start(unknown.controller);
    await ask(other.client, unknown.pattern, { tenant: 'ada', user: { id: 'ada' } });
    expect(await left(other.service, 'principal:ada', 'five')).toBe(5);
  });

  it('are counted although a global guard refuses them', async () => {
    const { controller, pattern } = limited({ plan: 'five', key: 'all' });
    const providers = [{ provide: APP_GUARD, useValue: { canActivate: () => false } }];
    const { service, client } = await start(controller, { providers });
    expect(await ask(client, pattern, {})).toEqual({
      status: 'error',
      message: 'Forbidden resource',
    });
    expect(await left(service, 'all', 'five')).toBe(4);
  });

  it(`by address are ${name === 'TCP' ? 'counted' : 'refused, with a word to the log'}`, async () => {
    const { controller, pattern } = limited('five');
    const { service, client, logs } = await start(controller);
    const answers = [
      await ask(client, pattern, { tenant: 'ada', ip: '10.0.0.1' }),
      await ask(client, pattern, { tenant: 'ada', ip: '10.0.0.1' }),
    ];
    const refusal = expect.objectContaining({ status: 'error', code: 'MISSING_KEY' });
    const counted = name === 'TCP';
    expect(answers).toEqual(counted ? ['ordered by ada', 'ordered by ada'] : [refusal, refusal]);
    expect(await left(service, 'ip:127.0.0.1', 'five')).toBe(counted ? 3 : 5);
    expect(logs.warnings.filter((line) => line.includes('Give @RateLimit a key'))).toHaveLength(
      counted ? 0 : 1,
    );
  });

  it('hold a slot until their handler has answered', async () => {
    const answers: ((text: string) => void)[] = [];
    const pattern = `slow-${process.pid}-${Math.random()}`;
    @Controller()
    class SlowController {
      @MessagePattern(pattern)
      @RateLimit({ plan: 'one', key: 'all', phase: 'interceptor' })
      order(): Promise<string> {
        return new Promise((resolve) => answers.push(resolve));
      }
    }
    const { service, client } = await start(SlowController);
    const first = ask(client, pattern, {});
    await until('the handler', () => Promise.resolve(answers.length === 1));
    expect(await ask(client, pattern, {})).toMatchObject({ plans: ['one'] });
    answers[0]!('done');
    expect(await first).toBe('done');
    await until('the slot', async () => (await left(service, 'all', 'one')) === 1);
  });

  it('do not start with an outcome that nobody would ask for', async () => {
    const { controller } = limited({ plan: 'two', key: 'all', refundOn: () => true });
    await expect(start(controller)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(
        /^@RateLimit on OrderController.order: refundOn is asked once an HTTP response is over/,
      ),
    });
  });

  it('may be events', async () => {
    const heard: string[] = [];
    const pattern = `event-${process.pid}-${Math.random()}`;
    @Controller()
    class EventController {
      @EventPattern(pattern)
      @RateLimit({ plan: 'two', key: tenant })
      happen(@Payload() order: Partial<Order>): void {
        heard.push(order.tenant!);
      }
    }
    const { service, client } = await start(EventController);
    for (const one of ['ada', 'ada', 'ada', 'bob']) {
      await lastValueFrom(client.emit(pattern, { tenant: one }), { defaultValue: undefined });
    }
    await until('the last', () => Promise.resolve(heard.includes('bob')));
    expect(heard).toEqual(['ada', 'ada', 'bob']);
    expect(await left(service, 'function.tenant:ada', 'two')).toBe(0);
  });

  it.each([true, false])(
    'are limited in a hybrid application, inheritAppConfig: %p',
    async (inheritAppConfig) => {
      const { controller, pattern } = limited({ plan: 'two', key: tenant });
      @Controller()
      class PageController {
        @Get()
        @MessagePattern(`${pattern}-page`)
        @RateLimit('two')
        page(): string {
          return 'ok';
        }
      }
      const options = await transport();
      const app = await startApp(
        'express',
        {
          imports: [RateLimitModule.forRoot({ plans: PLANS, clock })],
          controllers: [controller, PageController],
        },
        { configure: (nest) => nest.connectMicroservice(options, { inheritAppConfig }) },
      );
      await app.app.startAllMicroservices();
      const client = connect(options);
      expect(await ask(client, pattern, { tenant: 'ada' })).toBe('ordered by ada');
      const limiter = app.provider(RateLimiter);
      expect((await limiter.peek('function.tenant:ada', 'two')).remainingTokens).toBe(1);
      expect(await app.statuses(3, '/')).toEqual([200, 200, 429]);
      expect(app.logs.infos).toContain('Limits cover 2 microservice messages, 1 HTTP route.');
      // Before the application, which would wait for it.
      await running.pop()!.close();
    },
  );
});
