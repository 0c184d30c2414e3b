import type { CanActivate, ExecutionContext, OnModuleInit } from '@nestjs/common';
import { Injectable, Logger, UseGuards } from '@nestjs/common';
import type { NestContainer } from '@nestjs/core';
import { ModuleRef } from '@nestjs/core';
import { RateLimitGuard } from './rate-limit.guard.js';

/**
 * The global guard. It passes on to `RateLimitGuard`, which is bound here in the way that
 * `overrideGuard()` of `@nestjs/testing` can replace.
 */
@Injectable()
@UseGuards(RateLimitGuard)
export class GlobalRateLimitGuard implements CanActivate, OnModuleInit {
  #guard!: CanActivate;

  constructor(private readonly moduleRef: ModuleRef) {
    // Gateways and microservices take down the order of the guards before any hook is called.
    this.#globalGuards()?.unshift(this);
  }

  onModuleInit(): void {
    this.#guard = this.moduleRef.get(RateLimitGuard);
  }

  canActivate(context: ExecutionContext): ReturnType<CanActivate['canActivate']> {
    return this.#guard.canActivate(context);
  }

  /**
   * Moves this guard before all other global guards. Nest runs them in the order in which it finds
   * their modules, and the root module, where authentication is often declared, comes first.
   */
  goFirst(): void {
    const guards = this.#globalGuards();
    if (!guards) {
      new Logger('RateLimit').warn(
        'Cannot put the rate limit guard before other global guards. If one of them answers 401, ' +
          'requests that it refuses are not limited: list RateLimitModule before its module.',
      );
      return;
    }
    // Nest has put it at its own place as well, and every request would pass it twice.
    const others = guards.filter((guard) => guard !== this);
    guards.splice(0, guards.length, this, ...others);
  }

  #globalGuards(): CanActivate[] | undefined {
    const { container } = this.moduleRef as unknown as { container?: NestContainer };
    return container?.applicationConfig?.getGlobalGuards();
  }
}
