import { outsideRequests } from '../core/outside-requests.js';
import { TURNS_TO_READ } from './silence.js';

/** A message whose answer is awaited, linked in the order of asking. */
interface Waiter {
  readonly expiresMs: number;
  /** Undefined once the answer has come. */
  expire: (() => void) | undefined;
  /** The turn in which its time was found to be over. */
  overSince: number;
  next: Waiter | undefined;
}

/** The answer did not come in time. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/**
 * Bounds how long answers are waited for. A wait is over when its time has passed and the event loop
 * has then gone through three whole turns in which the answer could have been read. Each message is
 * judged by itself: a look at all of them together would also give up what was asked a moment ago.
 *
 * All wait equally long, so the first to ask is the first to give up, and one timer serves all.
 */
export class Deadline {
  #first: Waiter | undefined;
  #last: Waiter | undefined;
  /** The first whose time was not over at the last look; those before it wait for their turns. */
  #inTime: Waiter | undefined;
  #turn = 0;
  #isWatching = false;

  constructor(
    private readonly milliseconds: number,
    private readonly nowMs: () => number,
  ) {}

  /** The answer, or a DeadlineError when it takes too long. A late answer is dropped silently. */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiter = this.#add(() =>
        reject(new DeadlineError(`no answer within ${this.milliseconds} ms`)),
      );
      answer.then(
        (value) => {
          waiter.expire = undefined;
          resolve(value);
        },
        (error: Error) => {
          waiter.expire = undefined;
          reject(error);
        },
      );
    });
  }

  #add(expire: () => void): Waiter {
    const expiresMs = this.nowMs() + this.milliseconds;
    const waiter: Waiter = { expiresMs, expire, overSince: 0, next: undefined };
    if (this.#last) this.#last.next = waiter;
    else this.#first = waiter;
    this.#last = waiter;
    this.#inTime ??= waiter;
    if (!this.#isWatching) this.#watch(this.milliseconds);
    return waiter;
  }

  #watch(milliseconds: number): void {
    this.#isWatching = true;
    outsideRequests(() => setTimeout(setImmediate, Math.max(1, milliseconds), this.#look).unref());
  }

  readonly #look = (): void => {
    this.#turn++;
    this.#giveUp();
    const nowMs = this.nowMs();
    while (this.#inTime && (!this.#inTime.expire || this.#inTime.expiresMs <= nowMs)) {
      this.#inTime.overSince = this.#turn;
      this.#inTime = this.#inTime.next;
    }
    if (this.#first !== this.#inTime) setImmediate(this.#look);
    else if (this.#first) this.#watch(this.#first.expiresMs - nowMs);
    else this.#isWatching = false;
  };

  /** Ends the waits whose turns are over, and forgets what was answered. */
  #giveUp(): void {
    let waiter = this.#first;
    while (waiter !== this.#inTime && waiter) {
      if (waiter.expire && this.#turn - waiter.overSince < TURNS_TO_READ) break;
      waiter.expire?.();
      waiter = waiter.next;
    }
    this.#first = waiter;
    if (!waiter) this.#last = undefined;
  }
}
