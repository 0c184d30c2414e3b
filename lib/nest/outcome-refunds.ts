import type { ExecutionContext } from '@nestjs/common';
import { Injectable, Logger } from '@nestjs/common';
import type { Lease } from '../core/lease.js';
import type { Charge } from './charge.js';
import { RateLimiter } from '../core/rate-limiter.js';
import type { RefundCondition } from './chain-options.js';
import type { ReadyChain } from './handler-chains.js';
import type { RequestOutcome } from './request-outcome.js';
import { outcomeOf } from './request-outcome.js';
import type { LimitedRequest } from './request-state.js';
import { stateOf } from './request-state.js';
import { whenDone } from './when-done.js';

/** A plan that was charged, and the chain that asked for it. */
export interface ChargedReference extends Charge {
  readonly chain: ReadyChain;
}

/** Gives tokens back to requests that end as `refundOn` says. */
@Injectable()
export class OutcomeRefunds {
  readonly #logger = new Logger('RateLimit');
  /** Conditions that failed: one line each, not one for every request. */
  readonly #reported = new WeakSet<RefundCondition>();

  constructor(private readonly limiter: RateLimiter) {}

  /** Waits for the end of the request, and refunds the chains that then want to be. */
  watch(lease: Lease, charged: readonly ChargedReference[], context: ExecutionContext): void {
    const [request, response] = context.getArgs<[LimitedRequest, unknown]>();
    const state = stateOf(request);
    state.isWatched = true;
    whenDone(response, () => {
      const outcome = outcomeOf(request, response, state.error);
      for (const chain of new Set(charged.map((reference) => reference.chain))) {
        const ofChain = charged.filter((reference) => reference.chain === chain);
        void this.#refund(chain.refundOn, outcome, () => this.limiter.refundCharge(lease, ofChain));
      }
    });
  }

  /** The request is over: nothing that goes wrong here may reach it, or anybody else. */
  async #refund(
    condition: RefundCondition | undefined,
    outcome: RequestOutcome,
    refund: () => Promise<void>,
  ): Promise<void> {
    if (!condition) return;
    try {
      if ((await condition(outcome)) === true) await refund();
    } catch (error) {
      if (this.#reported.has(condition)) return;
      this.#reported.add(condition);
      this.#logger.warn(
        `Tokens could not be refunded by refundOn, which is told once: ${String(error)}`,
      );
    }
  }
}
