import type { OnApplicationBootstrap } from '@nestjs/common';
import { Injectable, RequestMethod } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** A route as the platform was given it. */
export interface ServedRoute {
  /** In upper case; `ALL` for every method. */
  readonly method: string;
  /** With global prefix and version, in the syntax of the platform. */
  readonly path: string;
  /** Carries the metadata of the method that it calls. */
  readonly handler: object;
}

type Register = (...args: unknown[]) => unknown;
type Registers = Record<string, Register | undefined>;

const METHODS = Object.values(RequestMethod).filter((name) => typeof name === 'string');

/**
 * The routes of the application, in the order in which Nest gives them to the platform. Read where
 * they pass: nothing else knows their paths in full, whatever prefixes, versions and router modules
 * there are.
 */
@Injectable()
export class ServedRoutes implements OnApplicationBootstrap {
  readonly #routes: ServedRoute[] = [];
  #stop: (() => void)[] = [];

  constructor(private readonly host: HttpAdapterHost) {}

  get all(): readonly ServedRoute[] {
    return this.#routes;
  }

  /** Listens from now on, until the application has started. */
  listen(): void {
    const adapter = this.host.httpAdapter as unknown as Registers | undefined;
    if (!adapter) return;
    for (const method of METHODS) this.#listenTo(adapter, method);
  }

  onApplicationBootstrap(): void {
    for (const stop of this.#stop.splice(0)) stop();
  }

  #listenTo(adapter: Registers, method: string): void {
    const name = method.toLowerCase();
    const register = adapter[name];
    if (typeof register !== 'function') return;
    adapter[name] = (...args) => {
      const [path, handler] = args;
      if (typeof path === 'string' && typeof handler === 'function') {
        this.#routes.push({ method, path, handler });
      }
      return register.apply(adapter, args);
    };
    this.#stop.push(() => delete adapter[name]);
  }
}
