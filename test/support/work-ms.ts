/**
 * What something costs in milliseconds of processor time, and so the same on a busy machine, where
 * it takes longer.
 */
export function workMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return process.cpuUsage(before).user / 1_000;
}
