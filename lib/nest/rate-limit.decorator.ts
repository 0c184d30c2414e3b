import { UseGuards, UseInterceptors } from '@nestjs/common';
import type { ChainOptions, PlanLinks } from './chain-options.js';
import { mayNeedInterceptor } from './chain-options.js';
import { CHAINS_METADATA } from './metadata.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitInterceptor } from './rate-limit.interceptor.js';
import { CONNECTION_HOOK, limitGateway } from './transports/limit-gateway.js';

/**
 * Limits a handler, or every handler of a class. One decorator is one chain: every plan admits the
 * request and is charged, or none is. On a method, each field wins over that of the class.
 *
 * ```ts
 * @RateLimit('gold')
 * @RateLimit({ plan: ['gold', 'daily'], key: 'principal', tokens: 2 })
 * ```
 *
 * A handler may be a route, a message of a gateway or a microservice, or a field of GraphQL. On the
 * `handleConnection` of a gateway it limits connections.
 */
export function RateLimit(
  options: PlanLinks | ChainOptions = {},
): MethodDecorator & ClassDecorator {
  const chain: ChainOptions = isPlanLinks(options) ? { plan: options } : options;
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor) => {
    // Nest runs no guards when a client connects to a gateway.
    if (descriptor && property === CONNECTION_HOOK) {
      descriptor.value = limitGateway(target, descriptor.value as Function);
      // A compiler does this afterwards; code that calls the decorator by hand may not.
      Object.defineProperty(target, property, descriptor);
    }
    const holder = (descriptor ? descriptor.value : target) as object;
    const below = (Reflect.getOwnMetadata(CHAINS_METADATA, holder) ?? []) as ChainOptions[];
    // Decorators run from the bottom up; the list reads from the top down.
    Reflect.defineMetadata(CHAINS_METADATA, [chain, ...below], holder);
    // The global guard is there before all others. This one makes an application that forgot the
    // module fail to start, and serves where global guards do not reach.
    if (below.length === 0) UseGuards(RateLimitGuard)(target, property!, descriptor!);
    // Only where it may be needed: an interceptor that does nothing still costs a third of the
    // requests per second of a bare Fastify route.
    if (mayNeedInterceptor(chain) && !below.some(mayNeedInterceptor)) {
      UseInterceptors(RateLimitInterceptor)(target, property!, descriptor!);
    }
  };
}

function isPlanLinks(options: PlanLinks | ChainOptions): options is PlanLinks {
  return typeof options === 'string' || Array.isArray(options);
}
