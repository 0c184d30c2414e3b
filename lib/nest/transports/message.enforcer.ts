import type { ExecutionContext } from '@nestjs/common';
import type { Awaitable } from '../../core/awaitable.js';
import type { Phase, RequestSource } from '../../core/keys/key-resolver.js';
import type { Lease } from '../../core/lease.js';
import type { Charge } from '../charge.js';
import type { HandlerChains, HandlerChainsReader, ReadyChain } from '../handler-chains.js';
import { RateLimitExceededException } from '../rate-limit-exceeded.exception.js';
import { RateLimitUnavailableException } from '../rate-limit-unavailable.exception.js';
import { isRefusal } from './refusal.js';
import type { Run, Till } from './till.js';
import { payNow } from './till.js';
import type { Transport } from './transport.js';
import type { Transports } from './transports.js';

/** What enforcing messages has in common with enforcing HTTP requests. */
export interface MessageParts {
  readonly chains: HandlerChainsReader;
  readonly transports: Transports;
  charges(
    chains: readonly ReadyChain[],
    request: RequestSource,
    context: ExecutionContext,
  ): Awaitable<readonly Charge[]>;
  acquire(charges: readonly Charge[]): Awaitable<Lease>;
}

/** Enforces the chains of handlers that are reached by anything but HTTP. */
export class MessageEnforcer {
  /** Nest makes one list of arguments for each run of a handler, and shows it to all enhancers. */
  readonly #enforced = new WeakMap<readonly unknown[], Map<Phase, HandlerChains>>();

  constructor(private readonly parts: MessageParts) {}

  /** The slots that the message holds, for whoever sees it end. Throws what its sender is told. */
  enforce(context: ExecutionContext, phase: Phase): Awaitable<Lease | undefined> {
    const transport = this.parts.transports.of(context.getType());
    if (!transport) return undefined;
    const chains = this.parts.chains.of(context);
    if (chains[phase].length === 0 || !this.#isFirst(context, phase, chains)) return undefined;
    return this.#enforce(transport, { context, phase, handler: chains });
  }

  /** Whether no other enforcement point has seen this run: global guards and those of handlers meet. */
  #isFirst(context: ExecutionContext, phase: Phase, chains: HandlerChains): boolean {
    const args: readonly unknown[] = context.getArgs();
    const enforced = this.#enforced.get(args) ?? new Map<Phase, HandlerChains>();
    if (enforced.get(phase) === chains) return false;
    this.#enforced.set(args, enforced.set(phase, chains));
    return true;
  }

  async #enforce(transport: Transport, run: Run): Promise<Lease | undefined> {
    try {
      return await this.#decide(transport, run);
    } catch (error) {
      throw isRefusal(error) ? await transport.refuse(error) : error;
    }
  }

  async #decide(transport: Transport, run: Run): Promise<Lease | undefined> {
    const request = transport.requestOf(run.context);
    const till: Till = {
      price: (chains, context) => this.parts.charges(chains, request, context),
      acquire: (charges) => this.parts.acquire(charges),
    };
    const lease = await (transport.settle?.(run, till) ?? payNow(run, till));
    if (!lease) return undefined;
    transport.tell?.(run.context, lease);
    if (!lease.allowed) throw refusalFor(lease);
    return lease.held ? lease : undefined;
  }
}

function refusalFor(lease: Lease): Error {
  return lease.reason === 'FAIL_CLOSED'
    ? new RateLimitUnavailableException()
    : new RateLimitExceededException(lease);
}
