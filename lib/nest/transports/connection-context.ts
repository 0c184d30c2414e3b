import type { ExecutionContext, Type } from '@nestjs/common';

/** The context of a client that connects to a gateway. Nest makes none: it runs no guards for it. */
export class ConnectionContext implements ExecutionContext {
  constructor(
    private readonly gateway: object,
    private readonly handler: Function,
    private readonly args: unknown[],
  ) {}

  getClass<T>(): Type<T> {
    return this.gateway.constructor as Type<T>;
  }

  getHandler(): Function {
    return this.handler;
  }

  getArgs<T extends unknown[]>(): T {
    return this.args as T;
  }

  getArgByIndex<T>(index: number): T {
    return this.args[index] as T;
  }

  getType<T extends string>(): T {
    return 'ws' as T;
  }

  switchToWs(): ReturnType<ExecutionContext['switchToWs']> {
    const [client] = this.args;
    return {
      getClient: <T>() => client as T,
      getData: <T>() => undefined as T,
      getPattern: () => 'connection',
    };
  }

  switchToHttp(): never {
    throw new TypeError('A client that connects to a gateway is not an HTTP request.');
  }

  switchToRpc(): never {
    throw new TypeError('A client that connects to a gateway is not a message.');
  }
}
