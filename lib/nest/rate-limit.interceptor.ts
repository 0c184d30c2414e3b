import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { isPending } from '../core/awaitable.js';
import { RateLimitEnforcer } from './rate-limit.enforcer.js';

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
    return isPending(enforcing) ? enforcing.then(() => next.handle()) : next.handle();
  }
}
