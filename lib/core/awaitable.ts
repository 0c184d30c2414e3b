/** A value, or the promise of one: what is at hand is handed over at once. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Tells whether a value has to be awaited. Awaiting one that is there already would cost every
 * decision of the embedded store a turn of the microtask queue.
 */
export function isPending<T>(value: Awaitable<T>): value is Promise<T> {
  return value instanceof Promise;
}
