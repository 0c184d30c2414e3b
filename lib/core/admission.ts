import { NEVER } from './counter.js';
import type { GateView } from './gate.js';
import type { Decision, Inquiry, LimitDecision } from './limit-store.js';
import type { Plan } from './plan.js';

/** Whether a limit stands in the way, given how long it would make the caller wait. */
export function admits({ mode, maxWaitUs }: Inquiry, plan: Plan, waitUs: number): boolean {
  if (waitUs === 0) return true;
  const books = mode === 'reserve' && plan.kind === 'token-bucket' && waitUs <= maxWaitUs;
  return books && waitUs !== NEVER;
}

/** Until the caller may act. Of a denied chain, only the plans that say no are to be waited for. */
export function longestWaitUs(limits: readonly LimitDecision[], allowed: boolean): number {
  let longestUs = 0;
  for (const { limit, admits: yes, waitUs } of limits) {
    if (limit.plan.shadow || (!allowed && yes)) continue;
    if (waitUs > longestUs) longestUs = waitUs;
  }
  return longestUs;
}

/** A decision with what the gate said: shut, it is to be waited for as well. */
export function withGate(decision: Decision, gate: GateView): Decision {
  const waitUs = decision.allowed ? decision.waitUs : Math.max(decision.waitUs, gate.waitUs);
  return { ...decision, waitUs, gate };
}
