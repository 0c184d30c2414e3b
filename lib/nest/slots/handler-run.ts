import { AsyncLocalStorage } from 'node:async_hooks';
import { types } from 'node:util';
import type { CallHandler } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { finalize } from 'rxjs';
import { takeOver } from '../take-over.js';
import { ClientGoneException } from './client-gone.exception.js';

/** The run that a handler is called for. Used only while slots are held. */
const current = new AsyncLocalStorage<HandlerRun>();

/** Handlers that tell their run what they return. */
const reporting = new WeakSet<Function>();

/**
 * One run of a handler. It ends when nobody is subscribed to its result any more and the promise
 * that the handler returned has settled. The subscription alone says too little: Nest ends it when a
 * client disconnects, and a promise works on.
 */
export class HandlerRun {
  #isSubscribed = true;
  #isWorking = false;
  #hasBegun = false;
  #isOver = false;

  constructor(private readonly onEnd: () => void) {}

  /** What the handler answers. */
  handle(next: CallHandler): Observable<unknown> {
    const answer = current.run(this, () => next.handle());
    return answer.pipe(
      finalize(() => {
        this.#isSubscribed = false;
        this.#endIfOver();
      }),
    );
  }

  /**
   * Whether this is the call that Nest makes: a handler may call others. Throws when the run is over,
   * because the client left while pipes were still at work: the slots are given back by then.
   */
  begin(): boolean {
    if (this.#hasBegun) return false;
    if (this.#isOver) throw new ClientGoneException();
    this.#hasBegun = true;
    return true;
  }

  /** Takes note of what the handler returned. Only promises: to ask a lazy query would start it. */
  returned(result: unknown): void {
    if (!types.isPromise(result)) return;
    this.#isWorking = true;
    const settled = () => {
      this.#isWorking = false;
      this.#endIfOver();
    };
    result.then(settled, settled);
  }

  #endIfOver(): void {
    if (this.#isSubscribed || this.#isWorking) return;
    this.#isOver = true;
    this.onEnd();
  }
}

/** The handler, made to tell its run what it returns. */
export function reportingHandler(handler: Function): Function {
  if (reporting.has(handler)) return handler;
  const replacement = function (this: unknown, ...args: unknown[]): unknown {
    const run = current.getStore();
    if (!run?.begin()) return handler.apply(this, args);
    const result: unknown = handler.apply(this, args);
    run.returned(result);
    return result;
  };
  reporting.add(replacement);
  return takeOver(handler, replacement);
}
