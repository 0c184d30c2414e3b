import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { AddressInfo } from 'node:net';
import type { CanActivate, DynamicModule, ExecutionContext, Type } from '@nestjs/common';
import { UseGuards } from '@nestjs/common';
import { ApolloDriver } from '@nestjs/apollo';
import { Args, GraphQLModule, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { MercuriusDriver } from '@nestjs/mercurius';
import type { ChainOptions, PlanLinks, RateLimitOptions } from '../../../lib/index.js';
import { RateLimit, RateLimiter, RateLimitModule } from '../../../lib/index.js';
import { FakeClock } from '../../support/fake-clock.js';
import type { Adapter, HttpApp } from '../../support/http-app.js';
import { closeApps, startApp } from '../../support/http-app.js';
import { until } from '../../support/redis-servers.js';

const PLANS = {
  one: { capacity: 1, tokensPerSecond: 0.1 },
  two: { capacity: 2, tokensPerSecond: 0.1 },
  ten: { capacity: 10, tokensPerSecond: 0.1 },
  slot: { maxConcurrent: 1 },
  slots: { maxConcurrent: 3 },
};

/** What GraphQL answered, and with which headers. */
interface GraphqlAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions?: Record<string, unknown>;
  }[];
}

/** Believes whatever user the request names, and leaves it in the context. */
class Authentication implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const graphql = context.getArgByIndex<{
      user?: unknown;
      req: { headers: Record<string, string | undefined> };
    }>(2);
    graphql.user = { id: graphql.req.headers['x-user'] };
    return true;
  }
}

/** Queries and mutations that are limited alike. */
function limited(options: PlanLinks | ChainOptions): Type {
  @Resolver()
  class GreetingResolver {
    @Query(() => String)
    @RateLimit(options)
    hello(): string {
      return 'hello';
    }

    @Query(() => String)
    @RateLimit(options)
    goodbye(): string {
      return 'goodbye';
    }

    @Mutation(() => String)
    @RateLimit(options)
    rename(): string {
      return 'renamed';
    }
  }
  return GreetingResolver;
}

/** How many things were asked for, as a price. */
const price = (_request: unknown, context: ExecutionContext) =>
  context.getArgByIndex<{ first: number }>(1).first;

@Resolver()
class SearchResolver {
  @Query(() => Int)
  @RateLimit({ plan: 'ten', tokens: price, key: 'ip' })
  search(@Args('first', { type: () => Int }) first: number): number {
    return first;
  }
}

const DRIVERS = [
  ['Apollo on Express', 'express', ApolloDriver],
  ['Apollo on Fastify', 'fastify', ApolloDriver],
  ['Mercurius', 'fastify', MercuriusDriver],
] as const;

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

afterEach(closeApps);

describe.each(DRIVERS)('GraphQL by %s', (name, adapter: Adapter, driver) => {
  /** Whether the response can be reached from an operation. */
  const tellsHeaders = name !== 'Apollo on Fastify';

  function start(
    resolver: Type,
    options: RateLimitOptions = {},
    graphql: object = {},
  ): Promise<HttpApp> {
    const graphqlModule: DynamicModule = GraphQLModule.forRoot({
      driver,
      autoSchemaFile: true,
      ...(driver === ApolloDriver ? { graphiql: false } : {}),
      ...graphql,
    });
    return startApp(adapter, {
      imports: [RateLimitModule.forRoot({ plans: PLANS, clock, ...options }), graphqlModule],
      providers: [resolver],
    });
  }

  async function send({ app }: HttpApp, body: unknown, user = 'ada'): Promise<Response> {
    const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
    return fetch(`http://127.0.0.1:${port}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': user },
      body: JSON.stringify(body),
    });
  }

  async function ask(app: HttpApp, query: string, user?: string): Promise<GraphqlAnswer> {
    const response = await send(app, { query }, user);
    const { status, headers } = response;
    return { status, headers, ...((await response.json()) as object) } as GraphqlAnswer;
  }

  async function left(app: HttpApp, plan: string, key = 'ip:127.0.0.1'): Promise<number> {
    return (await app.provider(RateLimiter).peek(key, plan)).remainingTokens;
  }

  it('charges a field as often as the document selects it', async () => {
    const app = await start(limited('ten'));
    const { data } = await ask(app, '{ hello again: hello goodbye hello }');
    expect(data).toEqual({ hello: 'hello', again: 'hello', goodbye: 'goodbye' });
    expect(await left(app, 'ten')).toBe(7);
    await ask(app, 'mutation { one: rename two: rename }');
    expect(await left(app, 'ten')).toBe(5);
  });

  it('charges an operation once, however many fields and aliases it has, where asked for', async () => {
    const app = await start(limited('ten'), { graphql: { countBy: 'operation' } });
    const { data } = await ask(app, '{ hello again: hello goodbye }');
    expect(data).toEqual({ hello: 'hello', again: 'hello', goodbye: 'goodbye' });
    expect(await left(app, 'ten')).toBe(9);
    await ask(app, 'mutation { one: rename two: rename }');
    expect(await left(app, 'ten')).toBe(8);
  });

  it('charges the same operation each time that it comes', async () => {
    const app = await start(limited('ten'));
    for (let i = 0; i < 3; i++) await ask(app, '{ hello }');
    expect(await left(app, 'ten')).toBe(7);
  });

  it.each(['execution', 'field'] as const)('charges every run by %s', async (countBy) => {
    const app = await start(limited('ten'), { graphql: { countBy } });
    await ask(app, '{ hello again: hello goodbye }');
    expect(await left(app, 'ten')).toBe(7);
  });

  it('charges each selection what its arguments cost', async () => {
    const app = await start(SearchResolver);
    await ask(app, '{ a: search(first: 1) b: search(first: 4) c: search(first: 3) }');
    expect(await left(app, 'ten')).toBe(2);
    expect((await ask(app, '{ a: search(first: 3) }')).errors).toHaveLength(1);
    expect(await left(app, 'ten')).toBe(2);
  });

  it('charges an operation once what its dearest field costs, where asked for', async () => {
    const app = await start(SearchResolver, { graphql: { countBy: 'operation' } });
    const cheapFirst = '{ a: search(first: 1) b: search(first: 4) c: search(first: 3) }';
    const { data } = await ask(app, cheapFirst);
    expect(data).toEqual({ a: 1, b: 4, c: 3 });
    expect(await left(app, 'ten')).toBe(6);
    const { errors } = await ask(app, '{ a: search(first: 1) b: search(first: 7) }');
    expect(errors).toHaveLength(1);
  });

  it('refuses with an error that names the plan and the wait', async () => {
    const app = await start(limited('one'));
    await ask(app, '{ hello }');
    const { data, errors } = await ask(app, '{ hello }');
    expect(data).toBeNull();
    expect(errors![0]).toMatchObject({
      message: 'Rate limit exceeded. Retry in 10 s.',
      extensions: { code: 'RATE_LIMITED', plans: ['one'], retryAfterMs: 10_000 },
    });
    expect(app.logs.errors).toEqual([]);
    clock.advanceMs(10_000);
    expect((await ask(app, '{ hello }')).data).toEqual({ hello: 'hello' });
  });

  it('tells limits on the response, where it can be reached', async () => {
    const app = await start(limited(['two', 'ten']));
    const { headers } = await ask(app, '{ hello goodbye }');
    const shown = tellsHeaders ? '"two";r=0;t=10, "ten";r=8;t=20' : null;
    expect(headers.get('RateLimit')).toBe(shown);
    const refused = await ask(app, '{ hello }');
    expect(refused.headers.get('Retry-After')).toBe(tellsHeaders ? '10' : null);
  });

  it('tells each plan once when every run is charged', async () => {
    const app = await start(limited('ten'), { graphql: { countBy: 'execution' } });
    const { headers } = await ask(app, '{ hello again: hello }');
    expect(headers.get('RateLimit')).toBe(tellsHeaders ? '"ten";r=8;t=20' : null);
  });

  it('counts for whom a guard has recognised', async () => {
    @Resolver()
    class AccountResolver {
      @Query(() => String)
      @UseGuards(Authentication)
      @RateLimit({ plan: 'one', key: 'principal' })
      account(): string {
        return 'yours';
      }
    }
    const app = await start(AccountResolver);
    await ask(app, '{ account }', 'ada');
    expect((await ask(app, '{ account }', 'ada')).errors).toHaveLength(1);
    expect((await ask(app, '{ account }', 'bob')).data).toEqual({ account: 'yours' });
    expect(await left(app, 'one', 'principal:bob')).toBe(0);
  });

  it('does without a request and a response', async () => {
    const context = () => ({ req: {}, request: undefined });
    const chain = { plan: 'one', key: 'all' };
    const app = await start(limited(chain), {}, driver === ApolloDriver ? { context } : {});
    expect((await ask(app, '{ hello }')).data).toEqual({ hello: 'hello' });
    expect((await ask(app, '{ hello }')).errors).toHaveLength(1);
  });

  it('charges the operations of a batch one by one', async () => {
    const batching = { allowBatchedHttpRequests: true, allowBatchedQueries: true };
    const app = await start(limited('ten'), {}, batching);
    const response = await send(app, [{ query: '{ hello }' }, { query: '{ hello again: hello }' }]);
    expect(await response.json()).toEqual([
      expect.objectContaining({ data: { hello: 'hello' } }),
      expect.objectContaining({ data: { hello: 'hello', again: 'hello' } }),
    ]);
    expect(await left(app, 'ten')).toBe(7);
  });

  it('lends a slot to each field for as long as it runs', async () => {
    const answers: ((text: string) => void)[] = [];
    @Resolver()
    class SlowResolver {
      @Query(() => String, { nullable: true })
      @RateLimit({ plan: 'slots', phase: 'interceptor' })
      slow(): Promise<string> {
        return new Promise((resolve) => answers.push(resolve));
      }
    }
    const app = await start(SlowResolver);
    const asking = ask(app, '{ a: slow b: slow }');
    await until('both fields', () => Promise.resolve(answers.length === 2));
    expect(await left(app, 'slots')).toBe(1);
    answers[0]!('done');
    await until('the first slot', async () => (await left(app, 'slots')) === 2);
    answers[1]!('done');
    expect((await asking).data).toEqual({ a: 'done', b: 'done' });
    await until('the second slot', async () => (await left(app, 'slots')) === 3);
  });

  it('is named in the start-up log', async () => {
    const app = await start(limited('ten'));
    expect(app.logs.infos).toContain('Limits cover 3 GraphQL fields.');
  });
});
