import { outsideRequests } from '../core/outside-requests.js';

/**
 * Whole turns of the event loop that an answer gets to be read in, before its absence counts. A busy
 * process runs its timers late and before it reads its sockets: by time alone, its own lag looks like
 * silence of the server.
 */
export const TURNS_TO_READ = 3;

/**
 * Calls back when `milliseconds` have passed and the event loop has then gone through three whole
 * turns. Returns a function that cancels it.
 */
export function afterSilence(milliseconds: number, onSilence: () => void): () => void {
  let turn: NodeJS.Immediate | undefined;
  const wait = (turnsLeft: number): void => {
    if (turnsLeft < 0) onSilence();
    else turn = setImmediate(wait, turnsLeft - 1);
  };
  const timer = outsideRequests(() => setTimeout(wait, milliseconds, TURNS_TO_READ).unref());
  return () => {
    clearTimeout(timer);
    clearImmediate(turn);
  };
}

/** How long a slice of a long wait is. */
const SLICE_MS = 50;

/**
 * Waits in slices, each for its time and its turns, so that a process that is busy in between still
 * gets through several exchanges with the server. Returns a function that cancels it.
 */
export function afterLongSilence(milliseconds: number, onSilence: () => void): () => void {
  let cancel = () => {};
  const wait = (leftMs: number): void => {
    if (leftMs <= 0) onSilence();
    else cancel = afterSilence(Math.min(SLICE_MS, leftMs), () => wait(leftMs - SLICE_MS));
  };
  wait(milliseconds);
  return () => cancel();
}
