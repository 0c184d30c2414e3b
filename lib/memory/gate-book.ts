import type {
  Gate,
  GateChange,
  GateListener,
  GateState,
  GateView,
  GateWatch,
} from '../core/gate.js';
import type { BucketEffect } from '../core/gate-record.js';
import { GateRecord } from '../core/gate-record.js';

/** Gates that are remembered; only those in trouble are, and the longest known goes first. */
const MAX_GATES = 10_000;

const UNTOUCHED = new GateRecord();

/** The gates of this process. */
export class GateBook {
  readonly #records = new Map<string, GateRecord>();
  readonly #listeners = new Set<GateListener>();

  view({ key }: Gate, nowUs: number): GateView {
    return (this.#find(key, nowUs) ?? UNTOUCHED).view(nowUs);
  }

  pass(gate: Gate, nowUs: number, actUs: number): void {
    this.#find(gate.key, nowUs)?.pass(gate, actUs);
  }

  /** Whether a turn that was booked under a plan has been made void by a later one. */
  isVoid(key: string, generation: number, dueUs: number, nowUs: number): boolean {
    const { generation: current, cutUs } = this.look({ key, probeUs: 0 }, nowUs);
    return current !== 0 && current !== generation && dueUs > cutUs;
  }

  look({ key }: Gate, nowUs: number): GateState {
    return (this.#find(key, nowUs) ?? UNTOUCHED).state(nowUs, false);
  }

  change(change: GateChange, owedUs: number, nowUs: number): [GateState, BucketEffect] {
    const { key } = change.gate;
    const known = this.#find(key, nowUs);
    const record = known ?? new GateRecord();
    const outcome = apply(record, change, owedUs, nowUs);
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
  change: GateChange,
  owedUs: number,
  nowUs: number,
): [GateState, BucketEffect] {
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
