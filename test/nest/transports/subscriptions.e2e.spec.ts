import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AddressInfo } from 'node:net';
import { Field, ObjectType, Query, ResolveField, Resolver, Subscription } from '@nestjs/graphql';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { RateLimit } from '../../../lib/index.js';
import type { GraphqlApp, GraphqlServer } from '../../support/graphql-app.js';
import { GRAPHQL_SERVERS, startGraphql } from '../../support/graphql-app.js';
import { closeApps } from '../../support/http-app.js';

@ObjectType()
class Tick {
  @Field()
  name!: string;
}

@Resolver(() => Tick)
class TickResolver {
  @Query(() => String)
  hello(): string {
    return 'hello';
  }

  @Subscription(() => Tick)
  @RateLimit('two')
  async *ticks(): AsyncGenerator<{ ticks: Tick }> {
    await Promise.resolve();
    for (const name of ['one', 'two', 'three']) yield { ticks: { name } };
  }

  @ResolveField(() => String, { nullable: true })
  @RateLimit('ten')
  picture(): string {
    return 'picture';
  }
}

/** How each server is told to take subscriptions, with the request in their context. */
function optionsFor({ name }: GraphqlServer): object {
  return name.startsWith('Apollo')
    ? { subscriptions: { 'graphql-ws': true } }
    : {
        subscription: {
          context: (_socket: unknown, request: object) => ({ request }),
          fullWsTransport: true,
        },
      };
}

function start(server: GraphqlServer): Promise<GraphqlApp> {
  const plans = {
    two: { capacity: 2, tokensPerSecond: 0.1 },
    ten: { capacity: 10, tokensPerSecond: 0.1 },
  };
  const enhancers = { fieldResolverEnhancers: ['guards', 'interceptors'] };
  return startGraphql(server, [TickResolver], { plans }, { ...enhancers, ...optionsFor(server) });
}

/** What a subscription tells until it ends. */
async function hear({ http }: GraphqlApp, query: string): Promise<unknown[]> {
  const { port } = (http.app.getHttpServer() as { address(): AddressInfo }).address();
  const client = createClient({
    url: `ws://127.0.0.1:${port}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
  });
  const told: unknown[] = [];
  try {
    for await (const { data, errors } of client.iterate({ query })) told.push(errors ?? data);
  } finally {
    await client.dispose();
  }
  return told;
}

afterEach(closeApps);

describe.each(GRAPHQL_SERVERS)('a subscription by $name', (server) => {
  it('is charged when it begins, not for what it tells', async () => {
    const app = await start(server);
    const query = 'subscription { ticks { name } }';
    const three = ['one', 'two', 'three'].map((name) => ({ ticks: { name } }));
    expect(await hear(app, query)).toEqual(three);
    expect(await app.left('two')).toBe(1);
    expect(await hear(app, query)).toEqual(three);
    const refusal = await hear(app, query).catch((errors: unknown) => errors);
    expect(JSON.stringify(refusal)).toContain('"code":"RATE_LIMITED"');
  });

  it('is charged for limited fields below it whenever it tells something', async () => {
    const app = await start(server);
    await hear(app, 'subscription { ticks { picture again: picture } }');
    expect([await app.left('two'), await app.left('ten')]).toEqual([1, 4]);
  });
});
