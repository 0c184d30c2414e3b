import type { GateChange, GateState } from '../core/gate.js';
import type { Limit } from '../core/limit-store.js';
import type { ScriptArgument } from './lua-script.js';
import { MalformedReplyError } from './lua-script.js';
import { rateOf } from './plan-parameters.js';

const EVENTS = { block: 1, success: 2, replan: 3, free: 4, beat: 5 } as const;
const LOOK = 0;
const NUMBERS = 6;

/** Writes what lua/gate.lua takes behind the time; without a change it only looks. */
export function encodeGateChange(
  change: GateChange | undefined,
  bucket: Limit | undefined,
  channel: string,
  name: string,
): ScriptArgument[] {
  const [a, b] = bucket ? rateOf(bucket.plan) : [1, 1];
  const what = change ? EVENTS[change.kind] : LOOK;
  const memoryUs = change?.memoryUs ?? 0;
  const plan = [bucket?.plan.quota ?? 1, a, b];
  return [what, memoryUs, ...detailsOf(change), ...plan, channel, name];
}

/** What the script calls ARGV[4] to ARGV[7]. */
function detailsOf(change: GateChange | undefined): ScriptArgument[] {
  switch (change?.kind) {
    case undefined:
      return ['', 0, 0, 0];
    case 'block': {
      const { generation = '', threshold, cooldownUs, retryAfterUs } = change;
      return [generation, threshold, cooldownUs, retryAfterUs];
    }
    case 'success':
      return [change.generation ?? '', 0, 0, 0];
    case 'replan':
      return ['', change.wastedUs, change.always ? 1 : 0, 0];
    case 'free':
      return ['', change.probeUntilUs ?? 0, 0, 0];
    case 'beat': {
      const { gate, dueUs = '', slots } = change;
      return [gate.holder ?? '', dueUs, slots ? rateOf(slots.plan)[0] : 0, 0];
    }
    default:
      return change;
  }
}

/** Reads the answer of lua/gate.lua. */
export function decodeGateState(reply: unknown): GateState {
  const isOurs = Array.isArray(reply) && reply.length === NUMBERS;
  if (!isOurs || !reply.every(Number.isSafeInteger)) {
    throw new MalformedReplyError('Redis answered something that is not the state of a gate.');
  }
  const [generation, cutUs, blocks, cooldownUs, trying, changed] = reply as GateNumbers;
  const [isTrying, hasChanged] = [trying === 1, changed === 1];
  return { generation, cutUs, blocks, cooldownUs, isTrying, changed: hasChanged };
}

type GateNumbers = [number, number, number, number, number, number];

/** Reads what lua/gate.lua publishes: the same numbers, and then the gate; undefined if it is not that. */
export function decodeGateNews(text: string): { key: string; state: GateState } | undefined {
  const match = /^((?:\d{1,16} ){6})(.+)$/s.exec(text);
  if (!match) return undefined;
  const numbers = match[1]!.trim().split(' ').map(Number);
  if (!numbers.every(Number.isSafeInteger)) return undefined;
  return { key: match[2]!, state: decodeGateState(numbers) };
}
