// @ts-check
/**
 * Waits until a condition holds.
 *
 * @param {string} what
 * @param {() => Promise<boolean> | boolean} condition
 */
export async function until(what, condition, timeoutMs = 20_000) {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
