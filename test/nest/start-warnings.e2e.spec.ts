import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApolloDriver } from '@nestjs/apollo';
import type { ModuleMetadata } from '@nestjs/common';
import { Body, Controller, Get, Post } from '@nestjs/common';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { EventPattern, GrpcMethod, MessagePattern, Transport } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import type { ChainOptions, RateLimitOptions } from '../../lib/index.js';
import { RateLimit, RateLimitModule, SkipRateLimit } from '../../lib/index.js';
import { DIAGNOSES } from '../../lib/nest/diagnosis.js';
import { bootApp, closeApps } from '../support/http-app.js';

const END = ' (diagnostics: false silences this.)';
const byIp = { plan: '20/minute', key: 'ip' } as const;
const keyResolvers = {
  account: ({ body }: { body?: { email?: string } }) => body?.email,
  mail: 'body:email',
};

async function warningsOf(metadata: ModuleMetadata, options: RateLimitOptions = {}) {
  const imports = [RateLimitModule.forRoot({ keyResolvers, ...options })];
  const { logs } = await bootApp('express', {
    ...metadata,
    imports: [...imports, ...(metadata.imports ?? [])],
  });
  return logs.warnings;
}

afterEach(closeApps);

describe('the warning LATE_KEY', () => {
  function controllerWith(options: ChainOptions) {
    @Controller()
    class LoginController {
      @Post('login')
      @RateLimit(options)
      login(@Body() _body: unknown): void {}
    }
    return LoginController;
  }

  function bodyOf({ body }: { body?: { email?: string } }) {
    return body?.email;
  }

  it.each<[string, ChainOptions, string]>([
    [
      'a function',
      { plan: [byIp, { plan: '5/hour', key: bodyOf }] },
      '"ip" on arrival, a function only after the guards',
    ],
    [
      'a name that is a function',
      { plan: [byIp, { plan: '5/hour', key: 'account' }] },
      '"ip" on arrival, "account" only after the guards',
    ],
    [
      'a principal beside the key of the chain',
      { plan: ['20/minute', { plan: '5/hour', key: 'principal' }], key: 'body:email' },
      '"body:email" on arrival, "principal" only after the guards',
    ],
    [
      'a list',
      { plan: '5/hour', key: ['body:email', 'principal'] },
      '"body:email" on arrival, "principal" only after the guards',
    ],
    [
      'a resolver',
      {
        plan: [
          byIp,
          { plan: '5/hour', key: { prefix: 'x', phase: 'interceptor', resolve: bodyOf } },
        ],
      },
      '"ip" on arrival, "x" only after the guards',
    ],
  ])('tells of %s', async (_what, options, keys) => {
    expect(await warningsOf({ controllers: [controllerWith(options)] })).toEqual([
      `LATE_KEY: LoginController.login, keys known ${keys}. ${DIAGNOSES.LATE_KEY}${END}`,
    ]);
  });

  it('says what to write instead', () => {
    expect(DIAGNOSES.LATE_KEY).toBe(
      'A chain is decided in one place, so that its keys that are known on arrival wait for the others: ' +
        'a guard that answers 401 ends a request before it is counted. Write two decorators, one with ' +
        "the early keys and one with the late ones, or a field such as 'body:email' in place of a " +
        "function. If all of them are to wait, write phase: 'interceptor'.",
    );
  });

  it.each<[string, ChainOptions]>([
    ['keys that are all known on arrival', { plan: [byIp, { plan: '5/hour', key: 'mail' }] }],
    [
      'keys that are all known late',
      { plan: ['1/s', { plan: '5/hour', key: bodyOf }], key: 'principal' },
    ],
    [
      'a key of the chain that no plan counts by',
      { plan: [{ plan: '5/hour', key: bodyOf }], key: 'ip' },
    ],
    ['an address for those who are not known', { plan: '5/hour', key: ['principal', 'ip'] }],
    ['an explicit phase', { plan: [byIp, { plan: '5/hour', key: bodyOf }], phase: 'interceptor' }],
    ['a chain that waits for its tokens', { plan: [byIp, '1/s'], key: bodyOf, tokens: () => 2 }],
  ])('says nothing of %s', async (_what, options) => {
    expect(await warningsOf({ controllers: [controllerWith(options)] })).toEqual([]);
  });

  it('says nothing of connections, before which no guard runs', async () => {
    @WebSocketGateway()
    class ChatGateway {
      @RateLimit({ plan: [byIp, { plan: '5/hour', key: 'principal' }] })
      handleConnection(): void {}
    }
    expect(await warningsOf({ providers: [ChatGateway] })).toEqual([]);
  });

  it('is silenced', async () => {
    const controllers = [controllerWith({ plan: '5/hour', key: ['body:email', 'principal'] })];
    expect(await warningsOf({ controllers }, { diagnostics: false })).toEqual([]);
  });
});

describe('the warning KEY_NOT_FOUND', () => {
  const body = RateLimit({ plan: '5/s', key: 'body:email' });
  const mail = RateLimit({ plan: '5/s', key: 'mail' });
  const list = RateLimit({ plan: '5/s', key: ['query:token', 'param:id'] });
  const found = RateLimit({ plan: '5/s', key: ['body:email', 'header:x-api-key'] });
  const ip = RateLimit({ plan: '5/s', key: 'ip' });

  const line = (place: string) => `KEY_NOT_FOUND: ${place}. ${DIAGNOSES.KEY_NOT_FOUND}${END}`;

  it('tells of keys that messages of gateways do not have', async () => {
    @WebSocketGateway()
    class ChatGateway {
      @SubscribeMessage('one')
      @body
      one(): void {}

      @SubscribeMessage('two')
      @list
      two(): void {}

      @SubscribeMessage('three')
      @found
      @ip
      three(): void {}
    }
    expect(await warningsOf({ providers: [ChatGateway] })).toEqual([
      line('ChatGateway.one, key "body:email" of a WebSocket message'),
      line('ChatGateway.two, a key by query and param of a WebSocket message'),
    ]);
  });

  it('tells of keys that GraphQL operations do not have', async () => {
    @Resolver()
    class CatsResolver {
      @Query(() => String)
      @mail
      one(): string {
        return '';
      }

      @Query(() => String)
      @RateLimit({ plan: '5/s', key: 'body:variables.email' })
      @ip
      two(): string {
        return '';
      }
    }
    const graphql = GraphQLModule.forRoot({ driver: ApolloDriver, autoSchemaFile: true });
    expect(await warningsOf({ providers: [CatsResolver], imports: [graphql] })).toEqual([
      line('CatsResolver.one, key "mail" of a GraphQL field'),
    ]);
  });

  it('tells of addresses where the transport of a message is known to have none', async () => {
    @Controller()
    class ServiceController {
      @MessagePattern('any')
      @ip
      any(): void {}

      @MessagePattern('tcp', Transport.TCP)
      @ip
      tcp(): void {}

      @EventPattern('redis', Transport.REDIS)
      @ip
      redis(_data: object): void {}

      @GrpcMethod('Service', 'Grpc')
      @ip
      grpc(_data: object): void {}

      @MessagePattern('body')
      @body
      body(): void {}

      @MessagePattern('data')
      @RateLimit({ plan: '5/s', key: ({ data }: { data: string }) => data, phase: 'interceptor' })
      data(): void {}
    }
    expect(await warningsOf({ controllers: [ServiceController] })).toEqual([
      line('ServiceController.redis, key "ip" of a microservice message'),
      line('ServiceController.grpc, key "ip" of a microservice message'),
      line('ServiceController.body, key "body:email" of a microservice message'),
    ]);
  });

  it('says what to write instead', () => {
    expect(DIAGNOSES.KEY_NOT_FOUND).toBe(
      'Requests by this transport have no such part, so that onMissingKey decides about each of them. ' +
        "Write a key that they have, such as 'principal' or a function: ({ data }) => data.email for a " +
        'message, (_request, context) => GqlExecutionContext.create(context).getArgs().email for a field.',
    );
  });

  it('says nothing of HTTP, and is silenced', async () => {
    @Controller()
    class CatsController {
      @Get()
      @list
      @body
      find(): void {}
    }
    @WebSocketGateway()
    class ChatGateway {
      @SubscribeMessage('one')
      @body
      one(): void {}
    }
    expect(await warningsOf({ controllers: [CatsController] })).toEqual([]);
    expect(await warningsOf({ providers: [ChatGateway] }, { diagnostics: false })).toEqual([]);
  });
});

describe('the warning LIMIT_LOST', () => {
  const limit = RateLimit('1/hour');
  const line = (place: string) => `LIMIT_LOST: ${place}. ${DIAGNOSES.LIMIT_LOST}${END}`;

  /** Forgets the metadata of the method that it replaces. */
  const logged: MethodDecorator = (_target, _name, descriptor) => {
    const method = descriptor.value as unknown as () => unknown;
    descriptor.value = function (this: unknown): unknown {
      return method.call(this);
    } as never;
  };

  /** Takes the metadata along. */
  const traced: MethodDecorator = (target, name, descriptor) => {
    const method = descriptor.value as unknown as Function;
    logged(target, name, descriptor);
    for (const key of Reflect.getMetadataKeys(method)) {
      const value: unknown = Reflect.getMetadata(key, method);
      Reflect.defineMetadata(key, value, descriptor.value as object);
    }
  };

  it('tells of a method that a decorator has replaced', async () => {
    @Controller()
    class CatsController {
      @Get('lost')
      @logged
      @limit
      lost(): void {}

      @Get('kept')
      @traced
      @limit
      kept(): void {}

      @Get('above')
      @limit
      @logged
      above(): void {}
    }
    expect(await warningsOf({ controllers: [CatsController] })).toEqual([
      line('CatsController.lost, replaced by a decorator above @RateLimit'),
    ]);
  });

  it('tells of a method that a subclass overrides', async () => {
    class Base {
      @Get('one')
      @limit
      one(): void {}

      @Get('two')
      @limit
      two(): void {}

      @Get('three')
      @limit
      three(): void {}

      @Get('four')
      @limit
      four(): void {}
    }
    class Middle extends Base {
      @Get('one')
      override one(): void {}
    }
    @Controller()
    class CatsController extends Middle {
      @Get('two')
      @SkipRateLimit()
      override two(): void {}

      @Get('three')
      @limit
      override three(): void {}
    }
    @Controller('limited')
    @limit
    class LimitedController extends Middle {}
    @Controller('silent')
    class SilentController extends Base {
      // Nest does not call it for anybody.
      override one(): void {}
    }
    const controllers = [CatsController, LimitedController, SilentController];
    expect(await warningsOf({ controllers })).toEqual([
      line('CatsController.one, overrides the limited method of Base'),
    ]);
  });

  it('tells of what is no handler', async () => {
    class CatsService {
      @limit
      find(): void {}
    }
    @limit
    class DogsService {
      find(): void {}
    }
    class NoGateway {
      @limit
      handleConnection(): void {}
    }
    @WebSocketGateway()
    class ChatGateway {
      @limit
      handleConnection(): void {}

      @limit
      @SubscribeMessage('chat')
      chat(): void {}
    }
    @limit
    abstract class Base {}
    class BirdsService extends Base {}
    const providers = [CatsService, DogsService, NoGateway, ChatGateway, BirdsService];
    expect(await warningsOf({ providers })).toEqual([
      line('CatsService.find, not a handler'),
      line('DogsService, without handlers'),
      line('NoGateway.handleConnection, not a handler'),
    ]);
  });

  it('says nothing of classes that the application does not use, and is silenced', async () => {
    class UnusedService {
      @limit
      find(): void {}
    }
    expect(await warningsOf({})).toEqual([]);
    expect(await warningsOf({ providers: [UnusedService] }, { diagnostics: false })).toEqual([]);
  });

  it('says what to write instead', () => {
    expect(DIAGNOSES.LIMIT_LOST).toBe(
      '@RateLimit limits nothing there. It belongs on a route, a message, a field or handleConnection of a ' +
        'gateway, above decorators that replace the method, and again on a method that overrides one; ' +
        'write @SkipRateLimit() there if no limit is meant.',
    );
  });
});
