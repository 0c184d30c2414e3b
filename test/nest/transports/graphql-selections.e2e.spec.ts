import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CanActivate, ExecutionContext, Type } from '@nestjs/common';
import { Module, UseGuards } from '@nestjs/common';
import {
  Args,
  Field,
  GraphQLModule,
  InterfaceType,
  Mutation,
  ObjectType,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import type { RateLimitOptions } from '../../../lib/index.js';
import { RateLimit, RateLimiter, RateLimitModule, SkipRateLimit } from '../../../lib/index.js';
import type { Decision, Inquiry } from '../../../lib/core/limit-store.js';
import { MemoryStore } from '../../../lib/memory/memory-store.js';
import { FakeClock } from '../../support/fake-clock.js';
import type { GraphqlAnswer, GraphqlApp } from '../../support/graphql-app.js';
import { aliases, GRAPHQL_SERVERS, startGraphql } from '../../support/graphql-app.js';
import { closeApps, startApp } from '../../support/http-app.js';
import { until } from '../../support/redis-servers.js';

const PLANS = {
  ten: { capacity: 10, tokensPerSecond: 0.1 },
  five: { capacity: 5, tokensPerSecond: 0.1 },
  slots: { maxConcurrent: 3 },
};
const ENHANCERS = { fieldResolverEnhancers: ['guards', 'interceptors'] };

@InterfaceType({ resolveType: ({ title }: { title?: string }) => (title ? Book : Author) })
abstract class Named {
  @Field(() => String, { nullable: true })
  name?: string;
}

@ObjectType({ implements: () => [Named] })
class Author extends Named {
  @Field(() => [Author])
  friends!: Author[];
}

@ObjectType({ implements: () => [Named] })
class Book extends Named {
  @Field()
  title!: string;
}

/** Remembers what it was asked to charge. */
class RecordingStore extends MemoryStore {
  readonly asked: [plan: string, tokens: number][][] = [];

  override decide(inquiry: Inquiry): Decision {
    this.asked.push(inquiry.limits.map(({ plan, cost }) => [plan.name, cost]));
    return super.decide(inquiry);
  }
}

let runs: string[] = [];
let waiting: (() => void)[] = [];

const hundred = Array.from({ length: 100 }, () => ({}));

class Authentication implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { req, reply } = context.getArgByIndex<{
      req?: { user?: unknown };
      reply?: { request: { user?: unknown } };
    }>(2);
    (req ?? reply!.request).user = { id: 'ada' };
    return true;
  }
}

@Resolver(() => Author)
class AuthorResolver {
  @Query(() => [Author])
  authors() {
    return hundred;
  }

  @Query(() => [Named])
  named() {
    return [{}, { title: 'Emma' }, {}];
  }

  @ResolveField(() => [Author])
  friends() {
    return hundred.slice(0, 3);
  }

  @ResolveField(() => String, { nullable: true })
  @RateLimit('ten')
  photo(): string {
    runs.push('photo');
    return 'photo';
  }
}

@Resolver(() => Named)
class NamedResolver {
  @ResolveField(() => String, { nullable: true })
  @RateLimit('ten')
  name(): string {
    runs.push('name');
    return 'Jane';
  }
}

@Resolver()
class RootResolver {
  @Query(() => String, { nullable: true })
  @RateLimit('five')
  first(): string {
    runs.push('first');
    return 'first';
  }

  @Query(() => String, { nullable: true })
  @RateLimit({ plan: 'ten', tokens: 2 })
  second(): string {
    runs.push('second');
    return 'second';
  }

  @Mutation(() => String, { nullable: true })
  @RateLimit('five')
  change(): string {
    runs.push('change');
    return 'changed';
  }

  @Query(() => String, { nullable: true })
  @UseGuards(Authentication)
  @RateLimit({ plan: 'five', key: ['principal', 'ip'] })
  mine(): string {
    runs.push('mine');
    return 'mine';
  }

  @Query(() => String, { nullable: true })
  @RateLimit({ plan: () => 'five', tokens: ({ ip }: { ip: string }) => (ip ? 2 : 1), key: 'all' })
  chosen(): string {
    runs.push('chosen');
    return 'chosen';
  }

  @Query(() => String, { nullable: true })
  @RateLimit({
    plan: 'five',
    key: (_: unknown, context: ExecutionContext) => context.getArgByIndex<{ to: string }>(1).to,
  })
  message(@Args('to') to: string): string {
    runs.push(to);
    return to;
  }

  @Query(() => String, { nullable: true })
  @RateLimit({ plan: ['ten', 'slots'], phase: 'interceptor' })
  async slow(): Promise<string> {
    runs.push('slow');
    await new Promise<void>((resolve) => waiting.push(resolve));
    return 'slow';
  }
}

const RESOLVERS = [AuthorResolver, NamedResolver, RootResolver];

function codesOf({ errors = [] }: GraphqlAnswer): unknown[] {
  return errors.map(({ extensions }) => extensions?.['code']);
}

beforeEach(() => {
  runs = [];
  waiting = [];
});

afterEach(closeApps);

describe.each(GRAPHQL_SERVERS)('selections by $name', (server) => {
  function start(limits: RateLimitOptions = {}, graphql: object = ENHANCERS): Promise<GraphqlApp> {
    return startGraphql(server, RESOLVERS, { plans: PLANS, ...limits }, graphql);
  }

  it('cost the same below a list of any length', async () => {
    const app = await start();
    await app.ask('{ authors { photo again: photo } }');
    expect([runs.length, await app.left('ten')]).toEqual([200, 8]);
    await app.ask('{ authors { friends { photo } } }');
    expect([runs.length, await app.left('ten')]).toEqual([500, 7]);
  });

  it('cost every run where that is asked for', async () => {
    const app = await start({ graphql: { countBy: 'execution' } });
    const answer = await app.ask('{ authors { photo } }');
    expect([runs.length, answer.errors?.length]).toEqual([10, 90]);
    expect(await app.left('ten')).toBe(0);
  });

  it('are refused in all items of a list, or in none', async () => {
    const app = await start();
    const { errors } = await app.ask(`{ authors { ${aliases(11, 'photo')} } }`);
    expect([runs, errors?.length, await app.left('ten')]).toEqual([[], 1_100, 10]);
  });

  it('are one for a field that types inherit from an interface', async () => {
    const app = await start();
    const { data } = await app.ask('{ named { name ... on Book { title name } } }');
    expect(data!['named']).toHaveLength(3);
    expect([runs, await app.left('ten')]).toEqual([['name', 'name', 'name'], 9]);
    await app.ask('{ named { ... on Book { a: name } ... on Author { b: name } } }');
    expect([runs.length, await app.left('ten')]).toEqual([6, 7]);
  });

  it('of different fields are charged together, in one decision', async () => {
    const store = new RecordingStore(new FakeClock());
    const app = await start({ store });
    const answer = await app.ask('{ first second again: second authors { photo } }');
    expect(answer.errors).toBeUndefined();
    expect(store.asked).toEqual([
      [
        ['five', 1],
        ['ten', 5],
      ],
    ]);
  });

  it('of different fields all run, or none of them', async () => {
    const app = await start();
    const answer = await app.ask(`{ ${aliases(5, 'second')} first authors { photo } }`);
    expect(runs).toEqual([]);
    expect(new Set(codesOf(answer))).toEqual(new Set(['RATE_LIMITED']));
    expect(answer.errors![0]!.extensions!['plans']).toEqual(['ten']);
    expect(answer.data).toMatchObject({ first: null, a0: null });
    expect([await app.left('ten'), await app.left('five')]).toEqual([10, 5]);
  });

  it('are charged together where a guard has to recognise the caller first', async () => {
    const app = await start();
    expect(codesOf(await app.ask(`{ ${aliases(6, 'mine')} }`))).toEqual(
      Array(6).fill('RATE_LIMITED'),
    );
    expect([runs, await app.left('five', 'principal:ada')]).toEqual([[], 5]);
    await app.ask(`{ ${aliases(5, 'mine')} }`);
    expect([runs.length, await app.left('five', 'principal:ada')]).toEqual([5, 0]);
    expect(await app.left('five')).toBe(5);
  });

  it('are charged together where functions of the request choose', async () => {
    const app = await start();
    expect(codesOf(await app.ask('{ a: chosen b: chosen c: chosen }'))).toEqual(
      Array(3).fill('RATE_LIMITED'),
    );
    expect([runs, await app.left('five', 'all')]).toEqual([[], 5]);
    await app.ask('{ a: chosen b: chosen }');
    expect([runs.length, await app.left('five', 'all')]).toEqual([2, 1]);
  });

  it('pay each for itself where a function looks at their arguments', async () => {
    const app = await start();
    const many = `${aliases(6, 'message(to: "bob")')} ${aliases(2, 'message(to: "eve")', 'e')}`;
    const answer = await app.ask(`{ ${many} }`);
    expect(codesOf(answer)).toEqual(['RATE_LIMITED']);
    expect(runs.filter((to) => to === 'bob')).toHaveLength(5);
    expect(runs.filter((to) => to === 'eve')).toHaveLength(2);
    expect(await app.left('five', 'function.key:eve')).toBe(3);
  });

  it('hold a slot for each run, which pays together with it or not at all', async () => {
    const app = await start();
    const asking = app.ask(`{ ${aliases(5, 'slow')} }`);
    await until('three runs', () => Promise.resolve(waiting.length === 3));
    expect([await app.left('slots'), await app.left('ten')]).toEqual([0, 7]);
    for (const resolve of waiting) resolve();
    expect(codesOf(await asking)).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
    await until('the slots', async () => (await app.left('slots')) === 3);
    expect([runs.length, await app.left('ten')]).toEqual([3, 7]);
  });

  it('of the same document are counted anew each time', async () => {
    const app = await start();
    const query = 'query($x: Boolean!) { first again: first @include(if: $x) }';
    for (const x of [true, false, true]) await app.ask(query, { x });
    expect([runs.length, await app.left('five')]).toEqual([5, 0]);
    expect(codesOf(await app.ask(query, { x: false }))).toEqual(['RATE_LIMITED']);
  });

  it('of several operations in a document cost what the chosen one selects', async () => {
    const app = await start();
    const query = `query A { first } query B { ${aliases(3, 'first')} }`;
    await app.send({ query, operationName: 'B' });
    expect([runs.length, await app.left('five')]).toEqual([3, 2]);
  });
});

describe('the start-up log', () => {
  const [server] = GRAPHQL_SERVERS;

  async function logsOf(graphql: object, providers: readonly Type[] = RESOLVERS) {
    const app = await startGraphql(server!, providers, { plans: PLANS }, graphql);
    return app.http.logs;
  }

  const told = (names: string, settings: string) =>
    `@RateLimit has no effect on ${names}: below the root of an operation Nest runs guards and ` +
    `interceptors only if it is told to. Set fieldResolverEnhancers: [${settings}] in the options ` +
    'of GraphQLModule, or write @SkipRateLimit() where no limit is meant.';

  it('counts fields below the root when enhancers reach them', async () => {
    const { infos, warnings } = await logsOf(ENHANCERS);
    expect(infos).toContain('Limits cover 9 GraphQL fields.');
    expect(warnings.filter((line) => line.includes('@RateLimit'))).toEqual([]);
  });

  it.each([
    [{}, "'guards'"],
    [{ fieldResolverEnhancers: ['filters'] }, "'filters', 'guards'"],
    [{ fieldResolverEnhancers: ['interceptors'] }, "'interceptors', 'guards'"],
  ])('says what to set with %j, and does not count what is not reached', async (set, settings) => {
    const { infos, warnings } = await logsOf(set);
    expect(infos).toContain('Limits cover 7 GraphQL fields.');
    expect(warnings).toContain(told('AuthorResolver.photo, NamedResolver.name', settings));
  });

  it('asks for interceptors where a key is known only after the guards', async () => {
    @Resolver(() => Author)
    class SecretResolver {
      @ResolveField(() => String)
      @RateLimit({ plan: 'ten', key: 'principal' })
      secret(): string {
        return 'secret';
      }

      @ResolveField(() => String)
      @RateLimit('ten')
      public(): string {
        return 'public';
      }

      @ResolveField(() => String)
      @RateLimit('ten')
      @SkipRateLimit()
      free(): string {
        return 'free';
      }
    }
    const providers = [AuthorResolver, SecretResolver];
    const all = 'SecretResolver.secret, SecretResolver.public';
    const { warnings } = await logsOf({}, providers);
    expect(warnings).toContain(told(`AuthorResolver.photo, ${all}`, "'guards', 'interceptors'"));
    await closeApps();
    const later = await logsOf({ fieldResolverEnhancers: ['guards'] }, providers);
    expect(later.warnings).toContain(told('SecretResolver.secret', "'guards', 'interceptors'"));
  });

  it('charges nothing for a field that is not reached', async () => {
    const app = await startGraphql(server!, RESOLVERS, { plans: PLANS });
    await app.ask('{ first authors { photo } }');
    expect([await app.left('five'), await app.left('ten')]).toEqual([4, 10]);
  });
});

it('two schemas with fields of the same name are told apart', async () => {
  @Resolver()
  class OneResolver {
    @Query(() => String)
    @RateLimit('five')
    hello(): string {
      return 'one';
    }
  }
  @Resolver()
  class OtherResolver {
    @Query(() => String)
    @RateLimit('ten')
    hello(): string {
      return 'other';
    }
  }
  @Module({ providers: [OneResolver] })
  class OneModule {}
  @Module({ providers: [OtherResolver] })
  class OtherModule {}
  const { driver, options } = GRAPHQL_SERVERS[0]!;
  const common = { driver, autoSchemaFile: true, ...options };
  const http = await startApp('express', {
    imports: [
      RateLimitModule.forRoot({ plans: PLANS, clock: new FakeClock() }),
      GraphQLModule.forRoot({ ...common, path: '/one', include: [OneModule] }),
      GraphQLModule.forRoot({ ...common, path: '/other', include: [OtherModule] }),
      OneModule,
      OtherModule,
    ],
  });
  const ask = async (path: string, query: string) => {
    const response = await fetch(`${await http.app.getUrl()}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return ((await response.json()) as GraphqlAnswer).data;
  };
  const left = async (plan: string) =>
    (await http.provider(RateLimiter).peek('ip:127.0.0.1', plan)).remainingTokens;
  expect(await ask('/one', '{ hello a: hello }')).toEqual({ hello: 'one', a: 'one' });
  expect([await left('five'), await left('ten')]).toEqual([3, 10]);
  expect(await ask('/other', '{ hello a: hello b: hello }')).toMatchObject({ b: 'other' });
  expect([await left('five'), await left('ten')]).toEqual([3, 7]);
});
