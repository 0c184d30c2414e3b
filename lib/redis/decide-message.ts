import { admits, longestWaitUs } from '../core/admission.js';
import { NEVER } from '../core/counter.js';
import type { Decision, Inquiry, LimitDecision } from '../core/limit-store.js';
import type { Plan } from '../core/plan.js';
import type { ScriptArgument } from './lua-script.js';
import { rateOf } from './plan-parameters.js';
import type { RedisKeys } from './redis-keys.js';

const ALLOWED = 1;
/** A key holds something that is not ours, so that nothing can be decided. */
const UNREADABLE = 2;

const KINDS = { 'token-bucket': 1, 'sliding-window': 2, concurrency: 3 } as const;
const MODES = { take: 0, peek: 1, reserve: 2 } as const;
const NUMBERS_PER_LIMIT = 3;

/** What lua/decide.lua takes. */
export interface DecideMessage {
  readonly keys: string[];
  readonly args: ScriptArgument[];
}

/** An answer of lua/decide.lua that is not of the form it promises: not ours, or not in step. */
export class MalformedReplyError extends Error {
  override readonly name = 'MalformedReplyError';
}

/** A key that holds something that is not ours: that key's problem, not the server's. */
export class UnreadableKeyError extends Error {
  override readonly name = 'UnreadableKeyError';
}

/** Writes chains for lua/decide.lua; every plan is described once, however many chains use it. */
export function encode(
  inquiries: readonly Inquiry[],
  keys: RedisKeys,
  nowUs: string,
): DecideMessage {
  const plans: Plan[] = [];
  const names: string[] = [];
  const chains: ScriptArgument[] = [];
  for (const { limits, mode, maxWaitUs, leaseId } of inquiries) {
    chains.push(MODES[mode], maxWaitUs, leaseId, limits.length);
    for (const limit of limits) {
      names.push(keys.nameOf(limit));
      chains.push(indexOf(plans, limit.plan), limit.cost);
    }
  }
  const args: ScriptArgument[] = [nowUs, plans.length];
  for (const plan of plans) args.push(...parametersOf(plan));
  args.push(...chains);
  return { keys: names, args };
}

/** Reads the answer, strictly: a reply that is out of step must never pass for a decision. */
export function decode(inquiries: readonly Inquiry[], reply: unknown): (Decision | Error)[] {
  const numbers = wholeNumbers(reply, expectedLength(inquiries));
  const atUs = numbers[0]!;
  let at = 1;
  return inquiries.map((inquiry) => {
    const status = numbers[at++]!;
    const limits = inquiry.limits.map((limit): LimitDecision => {
      const [wait, remaining, resetUs] = numbers.slice(at, (at += NUMBERS_PER_LIMIT)) as Triple;
      const waitUs = wait < 0 ? NEVER : wait;
      return { limit, admits: admits(inquiry, limit.plan, waitUs), remaining, waitUs, resetUs };
    });
    if (status === UNREADABLE) {
      return new UnreadableKeyError('A key holds something that is not a limit of ours.');
    }
    const allowed = status === ALLOWED;
    return { allowed, waitUs: longestWaitUs(limits, allowed), atUs, limits };
  });
}

type Triple = [wait: number, remaining: number, reset: number];

function parametersOf(plan: Plan): ScriptArgument[] {
  return [KINDS[plan.kind], plan.quota, ...rateOf(plan), plan.shadow ? 1 : 0];
}

/** Position of a plan among those of the message, counted from 1; added when it is new. */
function indexOf(plans: Plan[], plan: Plan): number {
  const known = plans.indexOf(plan);
  return known === -1 ? plans.push(plan) : known + 1;
}

function expectedLength(inquiries: readonly Inquiry[]): number {
  return inquiries.reduce((sum, { limits }) => sum + 1 + NUMBERS_PER_LIMIT * limits.length, 1);
}

function wholeNumbers(reply: unknown, length: number): number[] {
  if (!Array.isArray(reply) || reply.length !== length || !reply.every(Number.isSafeInteger)) {
    throw new MalformedReplyError('Redis answered something that is not a decision.');
  }
  return reply as number[];
}
