import type { LeaseTies } from '../core/lease.js';
import { Lease } from '../core/lease.js';
import type { Decision, HeldLease, LimitDecision } from '../core/limit-store.js';
import { NEVER } from '../core/counter.js';
import type { Plan } from '../core/plan.js';
import type { Level, LevelLimit, Resource } from './gateway-levels.js';

/** The limit that said no. */
export interface GatewayDenial {
  readonly level: Level;
  readonly resource: Resource;
}

/** The answer of a gateway, and the connection that it lent: release it when that is over. */
export class GatewayAnswer extends Lease {
  /** Which limit said no, the first in the order of the levels; undefined when none did. */
  readonly denial: GatewayDenial | undefined;

  constructor(
    decision: Decision,
    denial: GatewayDenial | undefined,
    held: HeldLease | undefined,
    ties: LeaseTies,
  ) {
    super(decision, held, ties);
    this.denial = denial;
  }
}

/** The decision as callers see it: plans are called by their level and what they limit. */
export function renamed(decision: Decision, asked: readonly LevelLimit[]): Decision {
  const limits = decision.limits.map((one, i): LimitDecision => {
    const { limit, admits, remaining, waitUs, resetUs } = one;
    const told = { plan: toldPlan(asked[i]!), key: limit.key, cost: limit.cost };
    return { limit: told, admits, remaining, waitUs, resetUs };
  });
  return { ...decision, limits };
}

/** Made once for each limit of a level: answers are held for as long as their connections. */
const toldPlans = new WeakMap<LevelLimit, Plan>();

function toldPlan(asked: LevelLimit): Plan {
  let told = toldPlans.get(asked);
  if (!told) {
    const { plan, level, resource } = asked;
    toldPlans.set(asked, (told = { ...plan, name: `${level}-${resource}` }));
  }
  return told;
}

/** What a limit of 0 says, without the store having been asked. */
export function refusal({ plan, key }: LevelLimit): Decision {
  const limit = { plan, key, cost: 1 };
  const said = { limit, admits: false, remaining: 0, waitUs: NEVER, resetUs: 0 };
  return { allowed: false, waitUs: NEVER, atUs: 0, limits: [said] };
}
