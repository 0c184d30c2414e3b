import type { ExecutionContext, Type } from '@nestjs/common';
import { HttpException, Inject, Injectable } from '@nestjs/common';
import type { RequestSource } from '../../core/keys/key-resolver.js';
import type { Lease } from '../../core/lease.js';
import type { CheckedOptions } from '../rate-limit-options.js';
import { CHECKED_OPTIONS } from '../rate-limit.module-definition.js';
import { GraphqlHeaders } from './graphql-headers.js';
import { OperationBill } from './operation-bill.js';
import type { Refusal, RefusalPayload } from './refusal.js';
import { payloadOf } from './refusal.js';
import type { Transport } from './transport.js';

/** An HTTP request, or what drivers put in its place when an operation comes by a WebSocket. */
interface GraphqlRequest extends RequestSource {
  /** Of Express. */
  readonly res?: unknown;
  /** Of graphql-ws: the request that opened the connection. */
  readonly extra?: { readonly request?: RequestSource };
}

/** The context of an operation: what Apollo or Mercurius, and the application, put into it. */
interface GraphqlContext {
  readonly req?: GraphqlRequest;
  readonly request?: GraphqlRequest;
  readonly res?: unknown;
  /** Of Mercurius. */
  readonly reply?: { readonly request?: GraphqlRequest };
  readonly user?: unknown;
}

/** As much of what GraphQL tells of an execution as is used. */
interface GraphqlInfo {
  /** Made anew for each execution, whatever it is an execution of. */
  readonly variableValues?: object;
}

/** The metadata of `@Query`, `@Mutation`, `@Subscription` and `@ResolveField`. */
const RESOLVER_TYPE = 'graphql:resolver_type';
const RESOLVE_FIELD = 'graphql:resolve_property';
/** The parent, the arguments, the context and the info; a reference has no arguments. */
const ALL_ARGS = 4;

/** A refusal as GraphQL tells errors: with `extensions`. */
class GraphqlRefusal extends HttpException {
  readonly extensions: Omit<RefusalPayload, 'message'>;

  constructor(refusal: Refusal) {
    const { message, ...extensions } = payloadOf(refusal);
    // Without `statusCode`: Apollo's driver would make an internal error of it.
    super({ message, ...extensions }, refusal.getStatus(), { cause: refusal });
    this.extensions = extensions;
  }
}

/** Fields of GraphQL operations, by Apollo or Mercurius. */
@Injectable()
export class GraphqlTransport implements Transport {
  readonly #bills = new WeakMap<object, OperationBill>();

  constructor(
    private readonly headers: GraphqlHeaders,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {}

  handles(_controller: Type, handler: Function): boolean {
    return [RESOLVER_TYPE, RESOLVE_FIELD].some((one) => Reflect.hasMetadata(one, handler));
  }

  handlerNameOf(): string {
    return 'GraphQL field';
  }

  /** An error with `extensions` is one to GraphQL, so that nothing has to be loaded. */
  async prepare(): Promise<void> {}

  requestOf(context: ExecutionContext): RequestSource {
    const { graphql, request } = partsOf(context);
    if (request.user !== undefined || graphql.user === undefined) return request;
    // Fields of a request may be computed by its class, so that it cannot be spread.
    const { ip, socket, headers } = request;
    return { ip, socket, headers, user: graphql.user };
  }

  billOf(context: ExecutionContext): OperationBill | undefined {
    if (this.options.graphql.countBy === 'field') return undefined;
    const operation = partsOf(context).info?.variableValues ?? context.getArgs();
    const bill = this.#bills.get(operation) ?? new OperationBill();
    this.#bills.set(operation, bill);
    return bill;
  }

  tell(context: ExecutionContext, lease: Lease): void {
    const { graphql, request } = partsOf(context);
    this.headers.tell(graphql.res ?? graphql.reply ?? request.res, lease);
  }

  refuse(refusal: Refusal): Promise<Error> {
    return Promise.resolve(new GraphqlRefusal(refusal));
  }
}

function partsOf(context: ExecutionContext): {
  readonly graphql: GraphqlContext;
  readonly request: GraphqlRequest;
  readonly info: GraphqlInfo | undefined;
} {
  const args: unknown[] = context.getArgs();
  const [given, info] = args.slice(args.length >= ALL_ARGS ? 2 : 1);
  const graphql = (given ?? {}) as GraphqlContext;
  const found: GraphqlRequest = graphql.req ?? graphql.request ?? graphql.reply?.request ?? {};
  const request = found.extra?.request ?? found;
  return { graphql, request, info: info as GraphqlInfo | undefined };
}
