import { AsyncResource } from 'node:async_hooks';

const outside = new AsyncResource('nestjs-floodgate');

/** Runs what starts a timer: one made inside a request would keep its AsyncLocalStorage alive. */
export function outsideRequests<T>(work: () => T): T {
  return outside.runInAsyncScope(work);
}
