import { NEVER } from '../core/counter.js';
import type { Decision, Inquiry, LimitDecision } from '../core/limit-store.js';
import { RateLimitResult } from '../core/rate-limit-result.js';
import type { DecidedLimit, DecisionMessage } from './channels.js';
import { maskKey } from './mask-key.js';

/** A decision as it is told to those who listen. */
export function decisionMessage(decision: Decision, mode: Inquiry['mode']): DecisionMessage {
  const { allowed, waitUs, failure, fromCache = false, limits } = decision;
  const { reason } = new RateLimitResult(decision);
  return {
    allowed,
    reason,
    mode: mode === 'reserve' ? 'reserve' : 'take',
    waitMs: waitUs === NEVER ? null : Math.ceil(waitUs / 1_000),
    ...(failure === undefined ? {} : { failure }),
    fromDenyCache: fromCache,
    limits: limits.map(decidedLimit),
  };
}

function decidedLimit({ limit, admits, remaining }: LimitDecision): DecidedLimit {
  const { plan, seenAs, key } = limit;
  return {
    policy: seenAs?.name ?? plan.name,
    kind: plan.kind,
    // Names of levels are no secret.
    key: seenAs?.isOfCaller === false ? key : maskKey(key),
    denied: !admits,
    shadow: plan.shadow,
    quota: plan.quota,
    remaining,
  };
}
