import { NEVER } from '../core/counter.js';
import type { LeaseTies } from '../core/held-slots.js';
import { Lease } from '../core/lease.js';
import type { Decision, HeldLease } from '../core/limit-store.js';
import type { LevelLimit, LevelResource } from './gateway-levels.js';
import type { Destination } from './gateway-state.js';

/** The limit that said no. */
export type GatewayDenial = LevelResource;

/** Who asked for what. */
export interface Visit extends Destination {
  readonly clientIp: string;
}

/** What an answer hangs on. */
export interface AnswerTies extends LeaseTies {
  /** Called when the connection is over. */
  readonly onClose?: ((answer: GatewayAnswer) => void) | undefined;
  /** Called when the store has forgotten the connection although it is open. */
  readonly onForgotten?: ((answer: GatewayAnswer) => Promise<void>) | undefined;
}

/** The answer of a gateway, and the connection that it opened: release it when that is over. */
export class GatewayAnswer extends Lease {
  /** Which limit said no, the first in the order of the levels; undefined when none did. */
  readonly denial: GatewayDenial | undefined;
  readonly #onClose: AnswerTies['onClose'];
  readonly #onForgotten: AnswerTies['onForgotten'];

  /** @internal Made by the limiter. */
  constructor(
    decision: Decision,
    denial: GatewayDenial | undefined,
    held: HeldLease | undefined,
    ties: AnswerTies,
  ) {
    super(decision, held, ties);
    this.denial = denial;
    this.#onClose = ties.onClose;
    this.#onForgotten = ties.onForgotten;
  }

  override release(): Promise<void> {
    this.#onClose?.(this);
    return super.release();
  }

  /** A connection that is open counts, whatever the store has lost. */
  protected override lossListener(): () => Promise<void> {
    return async () => this.#onForgotten?.(this);
  }

  /** Counts the connection by more limits; false when it is over, so that nothing will release them. */
  countBy(held: HeldLease): boolean {
    return this.holdAlso(held);
  }
}

/** What a limit of 0 says, without the store having been asked. */
export function refusal({ limit }: LevelLimit): Decision {
  const said = { limit, admits: false, remaining: 0, waitUs: NEVER, resetUs: 0 };
  return { allowed: false, waitUs: NEVER, atUs: 0, limits: [said] };
}
