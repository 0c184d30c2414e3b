import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { GatewayDoor } from './gateway-door.js';
import { routedTarget } from './routed-target.js';
import type { FrameworkRequest } from './upgrade-request.js';

/** Where Nest keeps what it gives to Fastify as the configuration of a route. */
const ROUTE_CONFIG = '__fastify_route_config__';
const SKIPPED = Symbol('nestjs-floodgate:skipped');

interface FastifyRequest {
  readonly raw: FrameworkRequest;
  readonly routeOptions?: { readonly config?: { readonly [SKIPPED]?: object } };
}

type Hook = (
  request: FastifyRequest,
  reply: { readonly raw: ServerResponse },
  done: (error?: Error) => void,
) => void;

interface Fastify {
  addHook(name: 'onRequest', hook: Hook): unknown;
}

/**
 * Counts requests that were skipped by their path although Fastify gives them to another handler. It
 * has chosen the route by then, by constraints, rules and plugins that nothing else knows.
 */
@Injectable()
export class GatewaySkipCheck {
  readonly #skipped = new WeakSet<IncomingMessage>();
  #isOn = false;

  constructor(
    private readonly door: GatewayDoor,
    private readonly host: HttpAdapterHost,
  ) {}

  /** Whether the platform tells which route it has chosen. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** Has Fastify ask here. Called once the middleware of Nest is in place: this comes after it. */
  start(): void {
    const adapter = this.host.httpAdapter;
    if (adapter?.getType() !== 'fastify') return;
    this.#isOn = true;
    adapter.getInstance<Fastify>().addHook('onRequest', ({ raw, routeOptions }, reply, done) => {
      const isRight = routeOptions?.config?.[SKIPPED] === this;
      if (!this.#skipped.delete(raw) || isRight) return done();
      this.door.pass(raw, routedTarget(raw), reply.raw).then(() => done(), done);
    });
  }

  /** Lets the route of a handler be recognized. Nest reads this when it makes the route. */
  mark(handler: Function): void {
    const config = Reflect.getMetadata(ROUTE_CONFIG, handler) as object | undefined;
    Reflect.defineMetadata(ROUTE_CONFIG, { ...config, [SKIPPED]: this }, handler);
  }

  /** Takes note of a request that was skipped by its path. */
  add(request: IncomingMessage): void {
    if (this.#isOn) this.#skipped.add(request);
  }
}
