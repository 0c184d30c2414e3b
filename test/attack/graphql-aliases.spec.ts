import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Mutation, Query, Resolver } from '@nestjs/graphql';
import { RateLimit } from '../../lib/index.js';
import type { GraphqlApp, GraphqlAnswer } from '../support/graphql-app.js';
import { aliases, GRAPHQL_SERVERS, startGraphql } from '../support/graphql-app.js';
import { closeApps } from '../support/http-app.js';

let runs = 0;

@Resolver()
class LoginResolver {
  @Query(() => String, { nullable: true })
  @RateLimit('5/minute')
  secret(): string {
    runs++;
    return 'told';
  }

  @Query(() => String)
  free(): string {
    return 'free';
  }

  @Mutation(() => String, { nullable: true })
  @RateLimit('5/minute')
  login(): string {
    runs++;
    return 'welcome';
  }
}

const REFUSED = { code: 'RATE_LIMITED' };

function codesOf({ errors = [] }: GraphqlAnswer): unknown[] {
  return [...new Set(errors.map(({ extensions }) => extensions?.['code']))];
}

describe.each(GRAPHQL_SERVERS)('by $name', (server) => {
  let app: GraphqlApp;

  beforeEach(async () => {
    runs = 0;
    app = await startGraphql(server, [LoginResolver], {});
  });

  afterEach(closeApps);

  it('1000 aliases of a field limited to 5 a minute run it 0 times and cost nothing', async () => {
    const answer = await app.ask(`{ free ${aliases(1_000, 'secret')} }`);
    expect(runs).toBe(0);
    expect(answer.data).toMatchObject({ free: 'free', a0: null, a999: null });
    expect(answer.errors).toHaveLength(1_000);
    expect(answer.errors![0]!.extensions).toMatchObject({ ...REFUSED, retryAfterMs: null });
    expect(await app.left('5/minute')).toBe(5);
  });

  it('5 aliases run, and a sixth in a later operation does not', async () => {
    const { errors } = await app.ask(`{ ${aliases(5, 'secret')} }`);
    expect([runs, errors]).toEqual([5, undefined]);
    expect(codesOf(await app.ask('{ secret }'))).toEqual(['RATE_LIMITED']);
    expect(runs).toBe(5);
    app.clock.advanceMs(12_000);
    expect((await app.ask('{ secret }')).data).toEqual({ secret: 'told' });
  });

  it('6 aliases after which nothing was charged leave 5 to the next operation', async () => {
    expect(codesOf(await app.ask(`{ ${aliases(6, 'secret')} }`))).toEqual(['RATE_LIMITED']);
    expect(runs).toBe(0);
    expect((await app.ask(`{ ${aliases(5, 'secret')} }`)).errors).toBeUndefined();
    expect(runs).toBe(5);
  });

  it('mutations, which run one after another, are refused before the first', async () => {
    expect(codesOf(await app.ask(`mutation { ${aliases(1_000, 'login')} }`))).toEqual([
      'RATE_LIMITED',
    ]);
    expect(runs).toBe(0);
    await app.ask(`mutation { ${aliases(5, 'login')} }`);
    expect([runs, await app.left('5/minute')]).toEqual([5, 0]);
  });

  it('fragments hide nothing', async () => {
    const inner = `fragment B on Query { ${aliases(2, 'secret', 'b')} }`;
    const outer = `fragment A on Query { ...B ... on Query { x: secret ... { y: secret } } }`;
    const refused = await app.ask(`{ ...A ...A z: secret s: secret } ${inner} ${outer}`);
    expect([runs, codesOf(refused)]).toEqual([0, ['RATE_LIMITED']]);
    const { data } = await app.ask(`{ ...A ...A ...B z: secret } ${inner} ${outer}`);
    expect(Object.keys(data!).sort()).toEqual(['b0', 'b1', 'x', 'y', 'z']);
    expect([runs, await app.left('5/minute')]).toEqual([5, 0]);
  });

  it('fragments that double at every level are counted in no time', async () => {
    const depth = 200;
    const fragments = Array.from({ length: depth }, (_, i) => {
      const next = i + 1 < depth ? `...F${i + 1} ...F${i + 1}` : aliases(5, 'secret');
      return `fragment F${i} on Query { ${next} }`;
    });
    const { errors } = await app.ask(`{ ...F0 ...F0 } ${fragments.join(' ')}`);
    expect([errors, runs, await app.left('5/minute')]).toEqual([undefined, 5, 0]);
  });

  it('a batch pays for each of its operations', async () => {
    const batch = Array.from({ length: 10 }, () => ({ query: '{ secret }' }));
    const answers = await app.askBatch(batch);
    expect(answers.filter(({ data }) => data?.['secret'] === 'told')).toHaveLength(5);
    expect(answers.flatMap(codesOf)).toEqual(Array(5).fill('RATE_LIMITED'));
    expect(runs).toBe(5);
  });

  it('a batch of operations that each select too much runs nothing', async () => {
    const batch = Array.from({ length: 10 }, () => ({ query: `{ ${aliases(6, 'secret')} }` }));
    const answers = await app.askBatch(batch);
    expect(answers.map(codesOf)).toEqual(Array(10).fill(['RATE_LIMITED']));
    expect([runs, await app.left('5/minute')]).toEqual([0, 5]);
  });

  it('@skip and @include count as the server decides them, not as they look', async () => {
    const query = `query Q($yes: Boolean! = true, $no: Boolean = false) {
      a: secret @skip(if: $no) b: secret @include(if: $yes) c: secret @skip(if: true)
      ... @include(if: $no) { d: secret } ...F @skip(if: $yes)
    } fragment F on Query { ${aliases(9, 'secret', 'f')} }`;
    expect(Object.keys((await app.ask(query)).data!)).toEqual(['a', 'b']);
    expect([runs, await app.left('5/minute')]).toEqual([2, 3]);
    const all = await app.ask(query, { yes: false, no: true });
    expect([codesOf(all), runs]).toEqual([['RATE_LIMITED'], 2]);
  });
});
