import type { Decision, Limit, Return } from '../core/limit-store.js';
import { spentOn } from '../core/spent.js';
import type { ScriptArgument } from './lua-script.js';
import { rateOf } from './plan-parameters.js';
import type { RedisKeys } from './redis-keys.js';

/** What lua/give_back.lua does; slots that are released alone have a script of their own. */
export type Undoing = Exclude<Return, { kind: 'release' }>;

const ACTIONS = { refundBucket: 1, refundWindow: 2, release: 3, cancelBucket: 4 } as const;

/** Writes what lua/give_back.lua takes, its arguments behind the time; no keys when nothing was taken. */
export function encodeUndoing(
  returned: Undoing,
  redisKeys: RedisKeys,
): { keys: string[]; args: ScriptArgument[] } {
  const keys: string[] = [];
  const actions = actionsOf(returned);
  const gate = returned.kind === 'cancel' ? returned.decision.gate : undefined;
  const leaseId = returned.kind === 'cancel' ? returned.leaseId : '';
  const args: ScriptArgument[] = [gate?.generation ?? ''];
  if (gate && actions[0]) keys.push(redisKeys.gateOf(actions[0].limit));
  for (const { limit, action, dueUs } of actions) {
    const { tokens, atUs, wholeUs } = spentOn(limit, returned.decision);
    keys.push(redisKeys.nameOf(limit));
    args.push(action, limit.plan.quota, ...rateOf(limit.plan), tokens);
    args.push(atUs ?? '', wholeUs, dueUs, leaseId);
  }
  return { keys, args };
}

interface Action {
  readonly limit: Limit;
  readonly action: number;
  readonly dueUs: number;
}

function actionsOf(returned: Undoing): Action[] {
  switch (returned.kind) {
    case 'refund':
      return returned.limits
        .filter(isOfTokens)
        .map((limit) => ({ limit, action: refundOf(limit), dueUs: 0 }));
    case 'cancel':
      return cancelsOf(returned.decision);
    default:
      return returned;
  }
}

/** Each bucket's own due time counts, also where another one made the turn wait longer. */
function cancelsOf({ limits, atUs }: Decision): Action[] {
  const charged = limits.filter(({ admits }) => admits);
  return charged.map(({ limit, waitUs }) => {
    if (limit.plan.kind === 'token-bucket') {
      return { limit, action: ACTIONS.cancelBucket, dueUs: atUs + waitUs };
    }
    return { limit, action: isOfTokens(limit) ? refundOf(limit) : ACTIONS.release, dueUs: 0 };
  });
}

function isOfTokens({ plan }: Limit): boolean {
  return plan.kind !== 'concurrency';
}

function refundOf({ plan }: Limit): number {
  return plan.kind === 'token-bucket' ? ACTIONS.refundBucket : ACTIONS.refundWindow;
}
