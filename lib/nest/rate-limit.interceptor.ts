import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { finalize } from 'rxjs';
import { isPending } from '../core/awaitable.js';
import type { Lease } from '../core/lease.js';
import { RateLimitEnforcer } from './rate-limit.enforcer.js';
import { reportLostRelease } from './release-when-done.js';

/** Enforces what is known only once the guards have run, such as limits by principal. */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  constructor(private readonly enforcer: RateLimitEnforcer) {}

  intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    const enforcing = this.enforcer.enforce(context, 'interceptor');
    return isPending(enforcing)
      ? enforcing.then((lease) => handle(next, lease))
      : handle(next, enforcing);
  }
}

/** A message ends with its handler. */
function handle(next: CallHandler, lease: Lease | void): Observable<unknown> {
  if (!lease) return next.handle();
  return next.handle().pipe(finalize(() => void lease.release().catch(reportLostRelease)));
}
