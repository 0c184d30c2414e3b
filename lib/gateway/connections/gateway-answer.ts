import { NEVER } from '../../core/counter.js';
import type { LeaseTies } from '../../core/held-slots.js';
import { Lease } from '../../core/lease.js';
import type { Decision, HeldLease } from '../../core/limit-store.js';
import { denialOf } from '../../core/rate-limit-result.js';
import type { LevelLimit, LevelResource } from '../limits/level-limit.js';
import type { GatewayMatch } from '../routes/gateway-match.js';

/** The limit that refused a request. */
export type GatewayDenial = LevelResource;

/** A request or connection: which client, on which route. */
export interface Visit extends GatewayMatch {
  /** The address of the client, as it is counted. */
  readonly clientIp: string;
}

/** What an answer needs from outside. */
export interface AnswerDependencies extends LeaseTies {
  /** Called when the connection ends. */
  readonly onClose?: ((answer: GatewayAnswer) => void) | undefined;
  /** Called when the store has lost a connection that is still open. */
  readonly onForgotten?: ((answer: GatewayAnswer) => Promise<void>) | undefined;
}

/** The answer of a gateway, and the connection that it opened: release it when the connection ends. */
export class GatewayAnswer extends Lease {
  /** The limit that refused, the first in the order of the levels; undefined if none did. */
  readonly denial: GatewayDenial | undefined;
  readonly #onClose: AnswerDependencies['onClose'];
  readonly #onForgotten: AnswerDependencies['onForgotten'];

  /** @internal Made by the limiter. */
  constructor(
    decision: Decision,
    denial: GatewayDenial | undefined,
    held: HeldLease | undefined,
    dependencies: AnswerDependencies,
  ) {
    super(decision, held, dependencies);
    this.denial = denial;
    this.#onClose = dependencies.onClose;
    this.#onForgotten = dependencies.onForgotten;
  }

  override release(): Promise<void> {
    this.#onClose?.(this);
    return super.release();
  }

  /** An open connection must be counted: if the store has lost it, it is counted again. */
  protected override lossListener(): () => Promise<void> {
    return async () => this.#onForgotten?.(this);
  }

  /** Counts the connection by more limits. Returns false if it has ended: the caller has to release them. */
  countBy(held: HeldLease): boolean {
    return this.holdAlso(held);
  }
}

/** The decision of a limit of 0, which needs no store. */
export function refusal({ limit }: LevelLimit): Decision {
  return { allowed: false, waitUs: NEVER, atUs: 0, limits: [denialOf(limit)] };
}
