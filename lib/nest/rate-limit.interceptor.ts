import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { tap } from 'rxjs';
import { isPending } from '../core/awaitable.js';
import { RateLimitEnforcer } from './rate-limit.enforcer.js';
import type { LimitedRequest } from './request-state.js';
import { knownState } from './request-state.js';
import { limitedMessage } from './slots/limited-message.js';
import { handleHolding } from './slots/slot-watch.js';

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
    const enforce = () => this.enforcer.enforce(context, 'interceptor');
    if (context.getType() !== 'http') return limitedMessage(enforce, context, next);
    const enforcing = enforce();
    return isPending(enforcing)
      ? enforcing.then(() => handle(context, next))
      : handle(context, next);
  }
}

function handle(context: ExecutionContext, next: CallHandler): Observable<unknown> {
  const state = knownState(context.getArgByIndex<LimitedRequest>(0));
  const answer = state?.slots ? handleHolding(state.slots, context, next) : next.handle();
  if (!state?.isWatched) return answer;
  // What the handler throws is part of the outcome that `refundOn` is given.
  return answer.pipe(
    tap({
      error: (error: unknown) => {
        state.error = error;
      },
    }),
  );
}
