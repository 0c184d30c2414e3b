import type { HeldSlots } from './held-slots.js';
import type { Lease } from './lease.js';

/** How many leases in a row are looked at for where they were taken. */
const LOOKS = 1_000;
/** Callers that are looked at for one in the application. */
const CALLERS = 4;
/** Frames of packages and of Node. */
const FOREIGN = /node_modules|[( ]node:/;

/**
 * Finds leases that are garbage although they were not released: nothing can release them any more.
 * Where a lease was taken costs some 4 µs to find out, so that it is noted for the first thousand
 * only, and for the next thousand after each forgotten lease of which it was not.
 */
export class ForgottenLeases {
  readonly #garbage: FinalizationRegistry<HeldSlots>;
  #looks: number;

  /** Calls back for each lease that is found. With `noting` off, it is never known where. */
  constructor(onForgotten: (slots: HeldSlots) => void, noting = true) {
    this.#looks = noting ? LOOKS : 0;
    this.#garbage = new FinalizationRegistry((slots) => {
      if (!slots.held) return;
      if (noting && slots.place === undefined) this.#looks = LOOKS;
      onForgotten(slots);
    });
  }

  /** Where a method of the limiter was called, while that is worth its cost. */
  callerOf(method: Function): string | undefined {
    if (this.#looks === 0) return undefined;
    this.#looks--;
    return callerOf(method);
  }

  /** Looks out for the lease from now on. */
  watch(lease: Lease): void {
    if (lease.slots) this.#garbage.register(lease, lease.slots);
  }
}

/**
 * The caller, or the caller of that where it is in a package. As text: the frames of an error would
 * keep what their functions refer to, the lease included.
 */
function callerOf(method: Function): string | undefined {
  const { stackTraceLimit } = Error;
  const trace: { stack?: unknown } = {};
  // Assigned without an error where the intrinsics are frozen.
  Reflect.set(Error, 'stackTraceLimit', CALLERS);
  Error.captureStackTrace(trace, method);
  const { stack } = trace;
  Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  if (typeof stack !== 'string') return undefined;
  const frames = stack.split('\n').slice(1);
  return (frames.find((frame) => !FOREIGN.test(frame)) ?? frames[0])?.trim();
}
