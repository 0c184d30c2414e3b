import { setTimeout } from 'node:timers/promises';

const LONGEST_MS = 10_000;
const PAUSE_MS = 10;

/** Waits until something is so; fails when it does not become so. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + LONGEST_MS;
  while (!(await isSo())) {
    if (Date.now() > deadlineMs) throw new Error(`Waited in vain: ${what}.`);
    await setTimeout(PAUSE_MS);
  }
}
