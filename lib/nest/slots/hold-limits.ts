import type { Due } from '../../core/due-heap.js';
import { DueHeap } from '../../core/due-heap.js';
import type { HeldSlots } from '../../core/held-slots.js';
import { outsideRequests } from '../../core/outside-requests.js';

/** The longest that a timer can run. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Slots that may be held until a time. */
interface LimitedHold extends Due {
  readonly slots: HeldSlots;
}

/**
 * Until when slots may be held, in order: one timer for all of them, which never keeps the process
 * alive.
 */
export class HoldLimits {
  readonly #holds = new Map<HeldSlots, LimitedHold>();
  readonly #order = new DueHeap<LimitedHold>();
  #timer: NodeJS.Timeout | undefined;
  #timerDueMs = Number.POSITIVE_INFINITY;

  /** Calls back for slots that are held too long. */
  constructor(private readonly onOver: (slots: HeldSlots) => void) {}

  add(slots: HeldSlots, inMs: number): void {
    const hold = { slots, due: performance.now() + inMs, heapIndex: -1 };
    this.#holds.set(slots, hold);
    this.#order.add(hold);
    this.#schedule();
  }

  remove(slots: HeldSlots): void {
    const hold = this.#holds.get(slots);
    if (!hold) return;
    this.#holds.delete(slots);
    // The timer goes on: requests that follow each other share it.
    this.#order.remove(hold);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timerDueMs = Number.POSITIVE_INFINITY;
  }

  #schedule(): void {
    const { first } = this.#order;
    if (!first || first.due >= this.#timerDueMs) return;
    this.stop();
    this.#timerDueMs = first.due;
    const waitMs = Math.min(MAX_TIMER_MS, Math.ceil(first.due - performance.now()));
    this.#timer = outsideRequests(() => setTimeout(() => this.#end(), waitMs).unref());
  }

  #end(): void {
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    const nowMs = performance.now();
    for (let { first } = this.#order; first && first.due <= nowMs; { first } = this.#order) {
      this.remove(first.slots);
      this.onOver(first.slots);
    }
    this.#schedule();
  }
}
