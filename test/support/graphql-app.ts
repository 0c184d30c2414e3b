import type { AddressInfo } from 'node:net';
import type { Type } from '@nestjs/common';
import { ApolloDriver } from '@nestjs/apollo';
import { GraphQLModule } from '@nestjs/graphql';
import { MercuriusDriver } from '@nestjs/mercurius';
import type { RateLimitOptions } from '../../lib/index.js';
import { RateLimiter, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from './fake-clock.js';
import type { Adapter, HttpApp } from './http-app.js';
import { startApp } from './http-app.js';

/** A GraphQL server as Nest drives it. */
export interface GraphqlServer {
  readonly name: string;
  readonly adapter: Adapter;
  readonly driver: typeof ApolloDriver | typeof MercuriusDriver;
  /** Options of its own. */
  readonly options: object;
}

const APOLLO = { graphiql: false, allowBatchedHttpRequests: true };

/** Every server that is supported; Mercurius compiles a document that it sees for the second time. */
export const GRAPHQL_SERVERS: readonly GraphqlServer[] = [
  { name: 'Apollo on Express', adapter: 'express', driver: ApolloDriver, options: APOLLO },
  { name: 'Apollo on Fastify', adapter: 'fastify', driver: ApolloDriver, options: APOLLO },
  {
    name: 'Mercurius',
    adapter: 'fastify',
    driver: MercuriusDriver,
    options: { allowBatchedQueries: true },
  },
  {
    name: 'Mercurius with JIT',
    adapter: 'fastify',
    driver: MercuriusDriver,
    options: { allowBatchedQueries: true, jit: 1 },
  },
];

/** What GraphQL answers to one operation. */
export interface GraphqlAnswer {
  readonly data: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions?: Record<string, unknown>;
  }[];
}

/** One operation as clients send it. */
export interface GraphqlOperation {
  readonly query: string;
  readonly variables?: Record<string, unknown>;
  readonly operationName?: string;
}

/** An application with a GraphQL server, and what it decided. */
export class GraphqlApp {
  constructor(
    readonly http: HttpApp,
    readonly clock: FakeClock,
  ) {}

  /** Sends one operation. */
  async ask(query: string, variables?: Record<string, unknown>): Promise<GraphqlAnswer> {
    return (await this.send({ query, variables })) as GraphqlAnswer;
  }

  /** Sends several operations in one HTTP request. */
  async askBatch(operations: readonly GraphqlOperation[]): Promise<readonly GraphqlAnswer[]> {
    return (await this.send(operations)) as readonly GraphqlAnswer[];
  }

  /** Sends any body. */
  async send(body: unknown): Promise<unknown> {
    const { port } = (this.http.app.getHttpServer() as { address(): AddressInfo }).address();
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.json();
  }

  /** Tokens or slots that a plan has left. */
  async left(plan: string, key = 'ip:127.0.0.1'): Promise<number> {
    return (await this.http.provider(RateLimiter).peek(key, plan)).remainingTokens;
  }
}

/** Starts an application with these resolvers on a GraphQL server. */
export async function startGraphql(
  { adapter, driver, options }: GraphqlServer,
  providers: readonly Type[],
  limits: RateLimitOptions,
  graphql: object = {},
): Promise<GraphqlApp> {
  const clock = new FakeClock();
  const http = await startApp(adapter, {
    imports: [
      RateLimitModule.forRoot({ clock, ...limits }),
      GraphQLModule.forRoot({ driver, autoSchemaFile: true, ...options, ...graphql }),
    ],
    providers: [...providers],
  });
  return new GraphqlApp(http, clock);
}

/** A selection of a field under as many aliases. */
export function aliases(count: number, field: string, name = 'a'): string {
  return Array.from({ length: count }, (_, i) => `${name}${i}: ${field}`).join(' ');
}
