import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';
import type { Observable } from 'rxjs';
import { defer } from 'rxjs';
import { SLOT_WATCH_METADATA } from '../metadata.js';
import type { LimitedRequest } from '../request-state.js';
import { knownState } from '../request-state.js';
import { ClientGoneException } from './client-gone.exception.js';
import { HandlerRun } from './handler-run.js';
import type { SlotHold } from './slot-hold.js';

/** Runs a handler that ends its slots together with the response. */
export function handleHolding(
  slots: readonly SlotHold[],
  context: ExecutionContext,
  next: CallHandler,
): Observable<unknown> {
  return defer(() => {
    if (slots.some(({ isOver }) => isOver)) throw new ClientGoneException();
    const ends = slots.map((slot) => slot.wait());
    return new HandlerRun(context.getHandler(), () => ends.forEach((end) => end())).handle(next);
  });
}

/**
 * Watches handlers whose slots the guard takes: a guard does not see a handler end. It has no state,
 * since the metadata of a class serves all applications of a process.
 */
const SLOT_WATCH: NestInterceptor = {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle();
    const slots = knownState(context.getArgByIndex<LimitedRequest>(0))?.slots;
    return slots ? handleHolding(slots, context, next) : next.handle();
  },
};

/** Attaches the watch to a handler, once. Nest reads it when it makes the routes. */
export function watchSlots(handler: Function): void {
  if (Reflect.hasMetadata(SLOT_WATCH_METADATA, handler)) return;
  const others = (Reflect.getMetadata(INTERCEPTORS_METADATA, handler) ?? []) as unknown[];
  Reflect.defineMetadata(INTERCEPTORS_METADATA, [SLOT_WATCH, ...others], handler);
  Reflect.defineMetadata(SLOT_WATCH_METADATA, true, handler);
}
