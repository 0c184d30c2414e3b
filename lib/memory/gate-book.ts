import type {
  BeatChange,
  Gate,
  GateChange,
  GateListener,
  GateState,
  GateView,
  GateWatch,
} from '../core/gate.js';
import type { BucketEffect } from '../core/gate-record.js';
import { GateRecord } from '../core/gate-record.js';
import { TurnHolders } from '../core/turn-holders.js';

/** Gates that are remembered; only those in trouble are, and the longest known goes first. */
const MAX_GATES = 10_000;

const UNTOUCHED = new GateRecord();

/** What a change came to: the gate, what it means for the bucket, and the holders that had died. */
export type GateOutcome = readonly [
  state: GateState,
  effect: BucketEffect,
  dead?: readonly string[],
];

/** The gates of this process. */
export class GateBook {
  readonly #records = new Map<string, GateRecord>();
  readonly #holders = new Map<string, TurnHolders>();
  readonly #listeners = new Set<GateListener>();

  view({ key }: Gate, nowUs: number): GateView {
    const view = (this.#find(key, nowUs) ?? UNTOUCHED).view(nowUs);
    return this.#holders.get(key)?.isOverdue(nowUs) ? { ...view, isOverdue: true } : view;
  }

  pass(gate: Gate, nowUs: number, actUs: number): void {
    const { key, holder } = gate;
    const untilUs = this.#find(key, nowUs)?.pass(gate, actUs) ?? actUs;
    if (holder !== undefined && untilUs > nowUs) this.#holdersOf(key).note(holder, untilUs, nowUs);
  }

  /** Whether a turn that was booked under a plan has been made void by a later one. */
  isVoid(key: string, generation: number, dueUs: number, nowUs: number): boolean {
    const { generation: current, cutUs } = this.look({ key, probeUs: 0 }, nowUs);
    return current !== 0 && current !== generation && dueUs > cutUs;
  }

  look({ key }: Gate, nowUs: number): GateState {
    return (this.#find(key, nowUs) ?? UNTOUCHED).state(nowUs, false);
  }

  change(change: GateChange, owedUs: number, nowUs: number): GateOutcome {
    const { key } = change.gate;
    const known = this.#find(key, nowUs);
    const record = known ?? new GateRecord();
    const outcome =
      change.kind === 'beat'
        ? this.#beat(record, change, owedUs, nowUs)
        : apply(record, change, owedUs, nowUs);
    if (!known && !record.hasExpired(nowUs)) this.#add(key, record);
    return outcome;
  }

  watch(listener: GateListener): GateWatch {
    this.#listeners.add(listener);
    return { isLive: true, gaps: 0, close: () => this.#listeners.delete(listener) };
  }

  tell(key: string, state: GateState): void {
    for (const listener of this.#listeners) listener(key, state);
  }

  #beat(record: GateRecord, change: BeatChange, owedUs: number, nowUs: number): GateOutcome {
    const { key, holder } = change.gate;
    const holders = this.#holdersOf(key);
    if (holder !== undefined && change.dueUs === 0) holders.leave(holder);
    else if (holder !== undefined && change.dueUs) holders.note(holder, change.dueUs, nowUs);
    const dead = holders.isOverdue(nowUs) ? holders.sweep(nowUs) : [];
    if (holders.isEmpty) this.#holders.delete(key);
    return [...record.bury(dead, change, owedUs, nowUs), dead];
  }

  #holdersOf(key: string): TurnHolders {
    let holders = this.#holders.get(key);
    if (!holders) this.#holders.set(key, (holders = new TurnHolders()));
    if (this.#holders.size > MAX_GATES) this.#holders.delete(this.#holders.keys().next().value!);
    return holders;
  }

  #find(key: string, nowUs: number): GateRecord | undefined {
    const record = this.#records.get(key);
    if (!record?.hasExpired(nowUs)) return record;
    this.#records.delete(key);
    return undefined;
  }

  #add(key: string, record: GateRecord): void {
    this.#records.set(key, record);
    if (this.#records.size <= MAX_GATES) return;
    const [oldest] = this.#records.keys();
    this.#records.delete(oldest!);
  }
}

function apply(
  record: GateRecord,
  change: Exclude<GateChange, BeatChange>,
  owedUs: number,
  nowUs: number,
): GateOutcome {
  switch (change.kind) {
    case 'block':
      return record.block(change, nowUs);
    case 'success':
      return record.success(change, nowUs);
    case 'replan':
      return record.replan(change, owedUs, nowUs);
    case 'free':
      return record.free(change, nowUs);
    default:
      return change;
  }
}
