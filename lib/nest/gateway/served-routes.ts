import type { OnApplicationBootstrap } from '@nestjs/common';
import { Injectable, RequestMethod } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** A route as it is registered with the platform. */
export interface ServedRoute {
  /** In upper case; `ALL` for every method. */
  readonly method: string;
  /** With global prefix and version, in the syntax of the platform. */
  readonly path: string;
  /** Has the metadata of the method that it calls. */
  readonly handler: object;
}

type Register = (...args: unknown[]) => unknown;
type Registers = Record<string, Register | undefined>;

const METHODS = Object.values(RequestMethod).filter((name) => typeof name === 'string');

/**
 * The routes of the application, in the order in which Nest registers them with the platform. They are
 * recorded as they are registered: only then are their paths complete, with all prefixes and versions.
 */
@Injectable()
export class ServedRoutes implements OnApplicationBootstrap {
  readonly #routes: ServedRoute[] = [];
  #stop: (() => void)[] = [];

  constructor(private readonly host: HttpAdapterHost) {}

  get all(): readonly ServedRoute[] {
    return this.#routes;
  }

  /** Records routes from now on, until the application has started. */
  startRecording(): void {
    const adapter = this.host.httpAdapter as unknown as Registers | undefined;
    if (!adapter) return;
    for (const method of METHODS) this.#record(adapter, method);
  }

  onApplicationBootstrap(): void {
    for (const stop of this.#stop.splice(0)) stop();
  }

  #record(adapter: Registers, method: string): void {
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
