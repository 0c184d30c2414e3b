import { AsyncLocalStorage } from 'node:async_hooks';
import type { CallHandler } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { finalize, tap } from 'rxjs';
import { takeOver } from '../take-over.js';
import { ClientGoneException } from './client-gone.exception.js';

/** The run that handlers are called for. Used only while slots are held. */
const current = new AsyncLocalStorage<HandlerRun | undefined>();

/** Handlers that tell their run what they return. */
const reporting = new WeakSet<Function>();

/**
 * One run of a handler. It ends when nobody is subscribed to its result any more and every promise
 * that the handler returned has settled. The subscription alone says too little: Nest ends it when a
 * client disconnects, and a promise works on. An interceptor may call the handler several times.
 */
export class HandlerRun {
  #isSubscribed = true;
  #isAnswered = false;
  #calls = 0;
  /** Whether the client left before the handler began: pipes may still be at work. */
  #mayBeginLate = false;

  constructor(
    private readonly handler: Function,
    private readonly onEnd: () => void,
  ) {}

  /** What the handler answers. */
  handle(next: CallHandler): Observable<unknown> {
    const answer = current.run(this, () => next.handle());
    const answered = () => {
      this.#isAnswered = true;
    };
    return answer.pipe(
      tap({ next: answered, error: answered, complete: answered }),
      finalize(() => this.#leave()),
    );
  }

  /**
   * Calls a handler and waits for the promise that it returns. Throws when it is the handler of this
   * run and its client left before it began: the slots are given back by then. Other calls that come
   * after the end, such as those of a timer that a pipe has started, have nothing to do with this run.
   */
  call(handler: Function, call: () => unknown): unknown {
    if (this.#isOver) {
      if (this.#beginsLate(handler)) throw new ClientGoneException();
      return call();
    }
    this.#calls++;
    let isPending = false;
    try {
      // What the handler calls in turn, now or later, is its own matter.
      const result = current.run(undefined, call);
      isPending = isThenable(result);
      return isPending ? this.#waitFor(result) : result;
    } finally {
      if (!isPending) this.#endCall();
    }
  }

  get #isOver(): boolean {
    return !this.#isSubscribed && this.#calls === 0;
  }

  #leave(): void {
    this.#isSubscribed = false;
    this.#mayBeginLate = !this.#isAnswered && this.#calls === 0;
    if (this.#isOver) this.onEnd();
  }

  /** At most once: the second call is not that of the pipes. */
  #beginsLate(handler: Function): boolean {
    if (!this.#mayBeginLate || handler !== this.handler) return false;
    this.#mayBeginLate = false;
    return true;
  }

  /** Returns a promise in place of a thenable: a lazy query would be executed whenever it is awaited. */
  #waitFor(result: unknown): Promise<unknown> {
    const promise = Promise.resolve(result);
    const end = () => this.#endCall();
    promise.then(end, end);
    return promise;
  }

  #endCall(): void {
    this.#calls--;
    if (this.#isOver) this.onEnd();
  }
}

/** The handler, made to tell its run what it returns. */
export function reportingHandler(handler: Function): Function {
  if (reporting.has(handler)) return handler;
  const replacement = function (this: unknown, ...args: unknown[]): unknown {
    const run = current.getStore();
    if (!run) return handler.apply(this, args);
    return run.call(replacement, () => handler.apply(this, args) as unknown);
  };
  reporting.add(replacement);
  return takeOver(handler, replacement);
}

function isThenable(result: unknown): boolean {
  return typeof (result as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
