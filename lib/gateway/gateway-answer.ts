import { NEVER } from '../core/counter.js';
import type { LeaseTies } from '../core/lease.js';
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
  /** Called once, when the connection is over. */
  readonly onClose?: ((answer: GatewayAnswer) => void) | undefined;
}

/** The answer of a gateway, and the connection that it opened: release it when that is over. */
export class GatewayAnswer extends Lease {
  /** Which limit said no, the first in the order of the levels; undefined when none did. */
  readonly denial: GatewayDenial | undefined;
  readonly #onClose: AnswerTies['onClose'];

  constructor(
    decision: Decision,
    denial: GatewayDenial | undefined,
    held: HeldLease | undefined,
    ties: AnswerTies,
  ) {
    super(decision, held, ties);
    this.denial = denial;
    this.#onClose = ties.onClose;
  }

  override release(): Promise<void> {
    this.#onClose?.(this);
    return super.release();
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
