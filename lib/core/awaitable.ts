/** A value, or the promise of one: what is at hand is handed over at once. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Tells whether a value has to be awaited. Awaiting one that is there already would cost every
 * decision of the embedded store a turn of the microtask queue.
 */
export function isPending<T>(value: Awaitable<T>): value is Promise<T> {
  return value instanceof Promise;
}

/**
 * Goes on with all the values, or with the first failure; at once where all the values are there, as
 * those of the embedded store are.
 */
export function whenAll<T>(
  values: readonly Awaitable<T>[],
  then: (values: readonly T[]) => void,
  fail: (error: unknown) => void,
): void {
  if (values.some(isPending)) Promise.all(values).then(then, fail);
  else then(values as readonly T[]);
}
