import type { Type } from '@nestjs/common';
import { Injectable, Logger } from '@nestjs/common';
import { GraphqlTransport } from './graphql.transport.js';
import { RpcTransport } from './rpc.transport.js';
import type { Transport } from './transport.js';
import { WsTransport } from './ws.transport.js';

/** The ways to handlers that are known beside HTTP, by the type that Nest gives their contexts. */
@Injectable()
export class Transports {
  readonly #byType: ReadonlyMap<string, Transport>;
  readonly #unknown = new Set<string>();
  readonly #logger = new Logger('RateLimit');

  constructor(ws: WsTransport, rpc: RpcTransport, graphql: GraphqlTransport) {
    this.#byType = new Map<string, Transport>([
      ['ws', ws],
      ['rpc', rpc],
      ['graphql', graphql],
    ]);
  }

  /** The transport of a context; undefined for one that is nothing of ours, and passes. */
  of(type: string): Transport | undefined {
    const transport = this.#byType.get(type);
    if (!transport) this.#mention(type);
    return transport;
  }

  /** The transport by which Nest reaches a method, if one of these. */
  for(controller: Type, handler: Function): Transport | undefined {
    return [...this.#byType.values()].find((one) => one.handles(controller, handler));
  }

  /** What to do about handlers that Nest does not let be limited. */
  warnings(): string[] {
    return [...this.#byType.values()].flatMap(({ warning }) => warning ?? []);
  }

  /** Once for each type, of which an application has a few. */
  #mention(type: string): void {
    if (this.#unknown.has(type)) return;
    this.#unknown.add(type);
    this.#logger.debug(`Handlers of type "${type}" are not limited: they are left alone.`);
  }
}
