import { admits, longestWaitUs, withGate } from '../core/admission.js';
import { NEVER } from '../core/counter.js';
import type { GateView } from '../core/gate.js';
import type { Decision, Inquiry, LimitDecision } from '../core/limit-store.js';
import type { Plan } from '../core/plan.js';
import type { ScriptArgument } from './lua-script.js';
import { MalformedReplyError } from './lua-script.js';
import { rateOf } from './plan-parameters.js';

const ALLOWED = 1;
/** A key holds something that is not ours, so that nothing can be decided. */
const UNREADABLE = 2;

const KINDS = { 'token-bucket': 1, 'sliding-window': 2, concurrency: 3 } as const;
const MODES = { take: 0, peek: 1, reserve: 2 } as const;
/** In place of a wait. */
const [NEVER_WAIT, NOT_OURS] = [-1, -2];
/** In place of the first chain that is not answered; no answer ends with it. */
const LEFT = -1;
const NUMBERS_PER_LIMIT = 3;
const NUMBERS_PER_GATE = 6;

/** A chain to decide, with the names of its keys. */
export interface Question {
  readonly inquiry: Inquiry;
  readonly keys: readonly string[];
}

/** What lua/decide.lua takes. */
export interface DecideMessage {
  readonly keys: string[];
  readonly args: ScriptArgument[];
  /** Whether lua/decide_buckets.lua can decide it as well. */
  readonly onlyBuckets: boolean;
}

/** A key that holds something that is not ours: that key's problem, not the server's. */
export class UnreadableKeyError extends Error {
  override readonly name = 'UnreadableKeyError';

  constructor(readonly plan: string) {
    super(`A key of plan "${plan}" holds something that is not a limit of ours.`);
  }
}

/**
 * Writes chains for lua/decide.lua. Every plan and every shape is described once, and chains of one
 * shape that follow each other are told by their keys alone: under load most are, and a batch of 32
 * two-plan chains takes 80 arguments instead of 340.
 */
export function encode(questions: readonly Question[], nowUs: string): DecideMessage {
  const plans: Plan[] = [];
  const names: string[] = [];
  const shapes: Inquiry[] = [];
  const told: ScriptArgument[] = [];
  for (let from = 0; from < questions.length;) {
    const shape = questions[from]!.inquiry;
    const lends = shape.limits.some(({ plan }) => plan.kind === 'concurrency');
    const to = endOfShape(questions, from);
    const known = shapes.findIndex((one) => isOfShape(shape, one));
    told.push(to - from, known === -1 ? shapes.push(shape) : known + 1);
    if (known === -1) writeShape(told, plans, shape);
    for (; from < to; from++) {
      const { keys, inquiry } = questions[from]!;
      for (const key of keys) names.push(key);
      if (lends) told.push(inquiry.leaseId);
    }
  }
  const args: ScriptArgument[] = [nowUs, plans.length];
  for (const plan of plans) args.push(...parametersOf(plan));
  for (const argument of told) args.push(argument);
  return { keys: names, args, onlyBuckets: areOnlyBuckets(plans, questions) };
}

/**
 * Whether lua/decide_buckets.lua met a key that a window has counted in as well, so that the chains
 * behind its last answer are left to lua/decide.lua.
 */
export function isCutShort(reply: readonly unknown[]): boolean {
  return reply[reply.length - 1] === LEFT;
}

/** How many chains are answered by a reply of that length. */
export function countAnswered(questions: readonly Question[], length: number): number {
  const end = questions.findIndex((_, i) => expectedLength(questions.slice(0, i + 1)) > length);
  return end === -1 ? questions.length : end;
}

/** Reads the answer, strictly: a reply that is out of step must never pass for a decision. */
export function decode(questions: readonly Question[], reply: unknown): (Decision | Error)[] {
  const numbers = wholeNumbers(reply, expectedLength(questions));
  const atUs = numbers[0]!;
  let at = 1;
  return questions.map(({ inquiry }) => {
    const status = numbers[at]!;
    const limits: LimitDecision[] = [];
    at++;
    const gate = inquiry.gate && gateViewOf(numbers, at);
    if (gate) at += NUMBERS_PER_GATE;
    for (const limit of inquiry.limits) {
      const waitUs = numbers[at] === NEVER_WAIT ? NEVER : numbers[at]!;
      const [remaining, resetUs] = [numbers[at + 1]!, numbers[at + 2]!];
      limits.push({
        limit,
        admits: admits(inquiry, limit.plan, waitUs),
        remaining,
        waitUs,
        resetUs,
      });
      at += NUMBERS_PER_LIMIT;
    }
    if (status === UNREADABLE) return new UnreadableKeyError(unreadablePlan(limits));
    const allowed = status === ALLOWED;
    const decision = { allowed, waitUs: longestWaitUs(limits, allowed), atUs, limits };
    return gate ? withGate(decision, gate) : decision;
  });
}

function unreadablePlan(limits: readonly LimitDecision[]): string {
  return limits.find(({ waitUs }) => waitUs === NOT_OURS)?.limit.plan.name ?? 'gate';
}

function areOnlyBuckets(plans: readonly Plan[], questions: readonly Question[]): boolean {
  return (
    plans.every(({ kind }) => kind === 'token-bucket') &&
    questions.every(({ inquiry }) => inquiry.gate === undefined)
  );
}

function gateViewOf(numbers: readonly number[], at: number): GateView {
  return {
    generation: numbers[at]!,
    cutUs: numbers[at + 1]!,
    waitUs: numbers[at + 2]!,
    isProbe: numbers[at + 3] === 1,
    isTried: numbers[at + 3] === 2,
    blocks: numbers[at + 4]!,
    ...(numbers[at + 5] === 1 && { isOverdue: true }),
  };
}

/** Where the chains that ask the same of the same plans end. */
function endOfShape(questions: readonly Question[], from: number): number {
  const first = questions[from]!.inquiry;
  let to = from + 1;
  while (to < questions.length && isOfShape(questions[to]!.inquiry, first)) to++;
  return to;
}

function isOfShape({ limits, mode, maxWaitUs, gate }: Inquiry, shape: Inquiry): boolean {
  if (mode !== shape.mode || maxWaitUs !== shape.maxWaitUs) return false;
  if (gate?.probeUs !== shape.gate?.probeUs || gate?.holder !== shape.gate?.holder) return false;
  if (limits.length !== shape.limits.length) return false;
  for (let i = 0; i < limits.length; i++) {
    const [one, other] = [limits[i]!, shape.limits[i]!];
    if (one.plan !== other.plan || one.cost !== other.cost) return false;
  }
  return true;
}

function writeShape(
  told: ScriptArgument[],
  plans: Plan[],
  { mode, maxWaitUs, limits, gate }: Inquiry,
): void {
  told.push(MODES[mode], maxWaitUs, gate?.probeUs ?? 0, limits.length);
  for (const { plan, cost } of limits) told.push(indexOf(plans, plan), cost);
  if (gate) told.push(gate.holder ?? '');
}

function parametersOf(plan: Plan): ScriptArgument[] {
  return [KINDS[plan.kind], plan.quota, ...rateOf(plan), plan.shadow ? 1 : 0];
}

/** Position of a plan among those of the message, counted from 1; added when it is new. */
function indexOf(plans: Plan[], plan: Plan): number {
  const known = plans.indexOf(plan);
  return known === -1 ? plans.push(plan) : known + 1;
}

function expectedLength(questions: readonly Question[]): number {
  let length = 1;
  for (const { inquiry } of questions) {
    length += 1 + NUMBERS_PER_LIMIT * inquiry.limits.length;
    if (inquiry.gate) length += NUMBERS_PER_GATE;
  }
  return length;
}

function wholeNumbers(reply: unknown, length: number): number[] {
  if (!Array.isArray(reply) || reply.length !== length || !reply.every(Number.isSafeInteger)) {
    throw new MalformedReplyError('Redis answered something that is not a decision.');
  }
  return reply as number[];
}
