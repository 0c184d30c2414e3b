import type { ExecutionContext, Type } from '@nestjs/common';
import { HttpException, Inject, Injectable } from '@nestjs/common';
import type { KeyResolver, RequestSource } from '../../core/keys/key-resolver.js';
import type { Lease } from '../../core/lease.js';
import { PlanBook } from '../../core/plan-book.js';
import { PlanRegistry } from '../../core/plan-registry.js';
import type { HandlerChains } from '../handler-chains.js';
import type { CheckedOptions } from '../rate-limit-options.js';
import { CHECKED_OPTIONS } from '../rate-limit.module-definition.js';
import { FieldEnhancers } from './field-enhancers.js';
import { GraphqlHeaders } from './graphql-headers.js';
import type { GraphqlInfo, Schema } from './graphql-info.js';
import { resolverArgs } from './graphql-info.js';
import { LimitedFields } from './limited-fields.js';
import { OperationBill } from './operation-bill.js';
import type { Refusal, RefusalPayload } from './refusal.js';
import { payloadOf } from './refusal.js';
import { SchemaFields } from './schema-fields.js';
import { SelectionBill } from './selection-bill.js';
import type { Run, Till } from './till.js';
import { payNow } from './till.js';
import type { Transport } from './transport.js';
import { readsOneOf } from './transport.js';

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

/** The metadata of `@Query`, `@Mutation`, `@Subscription`, `@ResolveField` and `@ResolveReference`. */
const HANDLER_METADATA = [
  'graphql:resolver_type',
  'graphql:resolve_property',
  'graphql:resolve_reference',
];

/** What the HTTP request of an operation has; its body is the operation. */
const REQUEST_PARTS = ['address', 'headers', 'user', 'query', 'param'] as const;
const OPERATION_PART = /^body:(?:query|operationName|variables|extensions)\b/;

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
  readonly #plans: PlanBook;
  readonly #schemas = new WeakMap<Schema, SchemaFields>();
  /** What operations have paid, by what is made anew for each execution. */
  readonly #bySelection = new WeakMap<object, SelectionBill>();
  readonly #byOperation = new WeakMap<object, OperationBill>();

  constructor(
    private readonly headers: GraphqlHeaders,
    private readonly limited: LimitedFields,
    private readonly enhancers: FieldEnhancers,
    registry: PlanRegistry,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {
    this.#plans = new PlanBook(registry);
  }

  get warning(): string | undefined {
    return this.enhancers.warning;
  }

  handles(_controller: Type, handler: Function): boolean {
    return HANDLER_METADATA.some((one) => Reflect.hasMetadata(one, handler));
  }

  add(controller: Type, handler: Function, chains: HandlerChains): boolean {
    const isReached = this.enhancers.reach(controller, handler, chains);
    if (isReached) this.limited.add(controller, handler, chains);
    return isReached;
  }

  handlerNameOf(): string {
    return 'GraphQL field';
  }

  mayFind(resolver: KeyResolver): boolean {
    return OPERATION_PART.test(resolver.prefix) || readsOneOf(REQUEST_PARTS, resolver);
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

  /** A reference of a federation is charged for each run: every one of them is named by the caller. */
  settle(run: Run, till: Till): Promise<Lease | undefined> {
    const { info } = resolverArgs(run.context);
    const { countBy = 'selection' } = this.options.graphql;
    if (!info || countBy === 'execution' || countBy === 'field') return payNow(run, till);
    return countBy === 'selection'
      ? this.#selectionBillOf(info).settle(run, info, till)
      : this.#settleOnce(run, info, till);
  }

  async #settleOnce(run: Run, info: GraphqlInfo, till: Till): Promise<Lease | undefined> {
    const charges = await till.price(run.handler[run.phase], run.context);
    const bill = this.#byOperation.get(info.variableValues) ?? new OperationBill();
    this.#byOperation.set(info.variableValues, bill);
    return bill.settle(charges, (owed) => till.acquire(owed));
  }

  #selectionBillOf({ variableValues, schema }: GraphqlInfo): SelectionBill {
    const known = this.#bySelection.get(variableValues);
    if (known) return known;
    const fields = this.#schemas.get(schema) ?? new SchemaFields(schema, this.limited);
    this.#schemas.set(schema, fields);
    const bill = new SelectionBill(fields, this.#plans);
    this.#bySelection.set(variableValues, bill);
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
} {
  const graphql = (resolverArgs(context).graphql ?? {}) as GraphqlContext;
  const found: GraphqlRequest = graphql.req ?? graphql.request ?? graphql.reply?.request ?? {};
  return { graphql, request: found.extra?.request ?? found };
}
