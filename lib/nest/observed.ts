import { performance } from 'node:perf_hooks';
import type { LeaseKeeper } from '../core/held-slots.js';
import type { LimitStore } from '../core/limit-store.js';
import { Observation } from '../observe/observation.js';
import { ObservedLeases } from '../observe/observed-leases.js';
import { ObservedStore } from '../observe/observed-store.js';

/** What a side of the application hangs on: the limiter, the outbound side, the gateway. */
export interface SideTies {
  readonly store: LimitStore;
  readonly keeper: LeaseKeeper;
  /** Where it is written down what happens. */
  readonly observation?: Observation;
}

/** The store and the leases of an application, and where it is written down what they do. */
export class Observed implements SideTies {
  readonly store: ObservedStore;
  readonly keeper: ObservedLeases;

  constructor(
    readonly observation: Observation,
    store: LimitStore,
    keeper: LeaseKeeper,
  ) {
    const { tally, topics, ties } = observation;
    this.store = new ObservedStore(store, tally, topics.decision);
    this.keeper = new ObservedLeases(keeper, ties.nowMs, (limits, heldMs) =>
      observation.noteLease(limits, heldMs),
    );
  }
}

/** Begins to write down what happens. */
export function newObservation(): Observation {
  return new Observation({
    nowMs: () => performance.now(),
    timeMs: Date.now,
    random: Math.random,
  });
}
