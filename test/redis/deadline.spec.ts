import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { Deadline, DeadlineError } from '../../lib/redis/deadline.js';

/** Keeps the process busy, so that timers are late and sockets are not read. */
function compute(milliseconds: number): void {
  const untilMs = performance.now() + milliseconds;
  while (performance.now() < untilMs);
}

/** What becomes of a wait, and in which turn of the event loop. */
class Watched {
  outcome = 'waiting';
  readonly done: Promise<void>;

  constructor(wait: Promise<string>) {
    this.done = wait.then(
      (value) => void (this.outcome = value),
      (error: unknown) => void (this.outcome = (error as Error).name),
    );
  }
}

const never = new Promise<string>(() => undefined);
const nowMs = () => performance.now();

describe('a deadline', () => {
  it('hands on answers and errors', async () => {
    const deadline = new Deadline(1_000, nowMs);
    await expect(deadline.within(Promise.resolve('answer'))).resolves.toBe('answer');
    await expect(deadline.within(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('gives up when there is no answer', async () => {
    const beganMs = nowMs();
    await expect(new Deadline(20, nowMs).within(never)).rejects.toThrow(DeadlineError);
    expect(nowMs() - beganMs).toBeGreaterThanOrEqual(19);
  });

  it('waits three whole turns after its time, in which the answer may still be read', async () => {
    let answer = (_: string) => {};
    const wait = new Watched(
      new Deadline(5, nowMs).within(new Promise<string>((resolve) => (answer = resolve))),
    );
    // The time is over long before anybody can have read anything.
    compute(30);
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    expect(wait.outcome).toBe('waiting');
    answer('late, but read in time');
    await wait.done;
    expect(wait.outcome).toBe('late, but read in time');
  });

  it('does not give up what was asked a moment ago together with what was asked long ago', async () => {
    let clockMs = 0;
    const deadline = new Deadline(20, () => clockMs);
    const early = new Watched(deadline.within(never));
    clockMs = 30;
    const recent = new Watched(deadline.within(never));
    await early.done;
    expect([early.outcome, recent.outcome]).toEqual(['DeadlineError', 'waiting']);
    clockMs = 60;
    await recent.done;
    expect(recent.outcome).toBe('DeadlineError');
  });

  it('judges each message by itself however many there are', async () => {
    const deadline = new Deadline(10, nowMs);
    const waits: Watched[] = [];
    for (let i = 0; i < 1_000; i++) {
      const answer = i % 3 === 0 ? Promise.resolve('answer') : never;
      waits.push(new Watched(deadline.within(answer)));
      if (i % 100 === 0) await nextTurn();
    }
    await Promise.all(waits.map(({ done }) => done));
    const expected = waits.map((_, i) => (i % 3 === 0 ? 'answer' : 'DeadlineError'));
    expect(waits.map(({ outcome }) => outcome)).toEqual(expected);
    // It watches again after it has been idle.
    await expect(deadline.within(never)).rejects.toThrow(DeadlineError);
  });

  it('has one timer, however many wait', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const deadline = new Deadline(10, nowMs);
    const waits = Array.from({ length: 100 }, () => new Watched(deadline.within(never)));
    const started = timers.mock.calls.length;
    timers.mockRestore();
    expect(started).toBe(1);
    await Promise.all(waits.map(({ done }) => done));
    expect(new Set(waits.map(({ outcome }) => outcome))).toEqual(new Set(['DeadlineError']));
  });
});
