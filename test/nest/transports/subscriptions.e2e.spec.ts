import 'reflect-metadata';
import { afterEach, expect, it } from '@jest/globals';
import type { AddressInfo } from 'node:net';
import { ApolloDriver } from '@nestjs/apollo';
import { GraphQLModule, Query, Resolver, Subscription } from '@nestjs/graphql';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { RateLimit, RateLimiter, RateLimitModule } from '../../../lib/index.js';
import { FakeClock } from '../../support/fake-clock.js';
import { closeApps, startApp } from '../../support/http-app.js';

@Resolver()
class TickResolver {
  @Query(() => String)
  hello(): string {
    return 'hello';
  }

  @Subscription(() => String)
  @RateLimit('two')
  async *ticks(): AsyncGenerator<{ ticks: string }> {
    await Promise.resolve();
    for (const ticks of ['one', 'two', 'three']) yield { ticks };
  }
}

afterEach(closeApps);

it('a GraphQL subscription is charged when it begins, not for what it tells', async () => {
  const app = await startApp('express', {
    imports: [
      RateLimitModule.forRoot({
        plans: { two: { capacity: 2, tokensPerSecond: 0.1 } },
        clock: new FakeClock(),
      }),
      GraphQLModule.forRoot({
        driver: ApolloDriver,
        autoSchemaFile: true,
        graphiql: false,
        subscriptions: { 'graphql-ws': true },
      }),
    ],
    providers: [TickResolver],
  });
  const { port } = (app.app.getHttpServer() as { address(): AddressInfo }).address();
  const client = createClient({
    url: `ws://127.0.0.1:${port}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
  });
  const heard = async () => {
    const told: unknown[] = [];
    for await (const one of client.iterate({ query: 'subscription { ticks }' })) told.push(one);
    return told;
  };
  const three = ['one', 'two', 'three'].map((ticks) => ({ data: { ticks } }));
  expect(await heard()).toEqual(three);
  const limiter = app.provider(RateLimiter);
  expect((await limiter.peek('ip:127.0.0.1', 'two')).remainingTokens).toBe(1);
  expect(await heard()).toEqual(three);
  expect(JSON.stringify(await heard().catch((errors: unknown) => errors))).toContain(
    '"code":"RATE_LIMITED"',
  );
  await client.dispose();
});
