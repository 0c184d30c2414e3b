import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { isPending } from '../core/awaitable.js';
import type { Lease } from '../core/lease.js';
import { RateLimitEnforcer } from './rate-limit.enforcer.js';
import { reportLostRelease } from './release-when-done.js';

/**
 * Enforces what is known on arrival, such as limits by address, before any authentication: a guard
 * that answers 401 would otherwise keep a login from ever being counted.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  /** @internal Made by the module. */
  constructor(private readonly enforcer: RateLimitEnforcer) {}

  /** Lets the request go on, or throws why it may not. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const enforcing = this.enforcer.enforce(context, 'guard');
    return isPending(enforcing) ? enforcing.then(goOn) : true;
  }
}

/**
 * A guard does not see where a message ends, so that it keeps no slots of one: what would need them is
 * told at start, unless a plan became one that lends while the application runs.
 */
function goOn(lease: Lease | void): true {
  lease?.release().catch(reportLostRelease);
  return true;
}
