// @ts-check
/**
 * Numbers from 0 to below 1, the same ones for the same seed (mulberry32).
 *
 * @param {number} seed
 */
function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * The items in an order that only the seed decides.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {number} seed
 */
export function shuffled(items, seed) {
  const random = randomFrom(seed);
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const at = Math.floor(random() * (last + 1));
    [result[at], result[last]] = [/** @type {T} */ (result[last]), /** @type {T} */ (result[at])];
  }
  return result;
}
