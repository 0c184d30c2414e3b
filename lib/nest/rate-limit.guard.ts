import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { isPending } from '../core/awaitable.js';
import { RateLimitEnforcer } from './rate-limit.enforcer.js';

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
    return isPending(enforcing) ? enforcing.then(() => true) : true;
  }
}
