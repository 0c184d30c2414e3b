import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { finalize, tap } from 'rxjs';
import { isPending } from '../core/awaitable.js';
import type { Lease } from '../core/lease.js';
import { RateLimitEnforcer } from './rate-limit.enforcer.js';
import { reportLostRelease } from './release-when-done.js';
import type { LimitedRequest } from './request-state.js';
import { knownState } from './request-state.js';

/** Enforces what is known only once the guards have run, such as limits by principal. */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  /** @internal Made by the module. */
  constructor(private readonly enforcer: RateLimitEnforcer) {}

  /** Lets the handler run, or throws why it may not. */
  intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    const enforcing = this.enforcer.enforce(context, 'interceptor');
    return isPending(enforcing)
      ? enforcing.then((lease) => handle(context, next, lease))
      : handle(context, next, enforcing);
  }
}

function handle(
  context: ExecutionContext,
  next: CallHandler,
  lease: Lease | void,
): Observable<unknown> {
  if (lease) return releasing(lease, next);
  return context.getType() === 'http' ? watched(context, next) : next.handle();
}

/** A message ends with its handler. */
function releasing(lease: Lease, next: CallHandler): Observable<unknown> {
  return next.handle().pipe(finalize(() => void lease.release().catch(reportLostRelease)));
}

/** What the handler throws is taken down where somebody waits for the outcome of the request. */
function watched(context: ExecutionContext, next: CallHandler): Observable<unknown> {
  const state = knownState(context.getArgByIndex<LimitedRequest>(0));
  if (!state?.isWatched) return next.handle();
  return next.handle().pipe(
    tap({
      error: (error: unknown) => {
        state.error = error;
      },
    }),
  );
}
