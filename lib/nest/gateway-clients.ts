import type { IncomingMessage } from 'node:http';
import { BadRequestException, Injectable } from '@nestjs/common';
import { isPending } from '../core/awaitable.js';
import type { RequestSource } from '../core/keys/key-resolver.js';
import { resolveKey } from '../core/keys/key-resolver.js';
import { KeyResolvers } from '../core/keys/key-resolvers.js';
import type { GatewayTarget } from '../gateway/gateway-limiter.js';
import { GatewayLimiter } from '../gateway/gateway-limiter.js';

/** A request as frameworks extend it. */
type FrameworkRequest = IncomingMessage &
  RequestSource & {
    /** As the framework understands it behind proxies that it trusts. */
    readonly hostname?: string;
    readonly originalUrl?: string;
  };

/** Tells who sent a request, and what it is sent to. */
@Injectable()
export class GatewayClients {
  constructor(
    private readonly gateway: GatewayLimiter,
    private readonly resolvers: KeyResolvers,
  ) {}

  targetOf(request: FrameworkRequest): GatewayTarget {
    const host = request.hostname ?? request.headers.host;
    const path = request.originalUrl ?? request.url ?? '/';
    if (this.gateway.isAmbiguous(host, path)) throw new BadRequestException('Ambiguous path.');
    const routeId = this.gateway.match(host, path);
    return { routeId, clientIp: this.#addressOf(request) };
  }

  #addressOf(request: FrameworkRequest): string {
    const address = resolveKey(this.resolvers.from('ip'), request);
    // A socket that is closed already has no address; it counts with its like.
    return address === undefined || isPending(address) ? 'unknown' : address;
  }
}
