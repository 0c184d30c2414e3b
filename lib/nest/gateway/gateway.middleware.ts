import type { ServerResponse } from 'node:http';
import type { NestMiddleware } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { GatewayDoor } from './gateway-door.js';
import { GatewaySkipCheck } from './gateway-skip-check.js';
import { GatewaySkips } from './gateway-skips.js';
import { routedTarget } from './routed-target.js';
import type { FrameworkRequest } from './upgrade-request.js';

/**
 * Applies the limits of the route, the backend, the client and the whole server to every request,
 * except for handlers that `@SkipRateLimit()` leaves out. The connection counts as open until the
 * response is finished or the client has disconnected.
 */
@Injectable()
export class GatewayMiddleware implements NestMiddleware<FrameworkRequest, ServerResponse> {
  constructor(
    private readonly door: GatewayDoor,
    private readonly skips: GatewaySkips,
    private readonly check: GatewaySkipCheck,
  ) {}

  async use(request: FrameworkRequest, response: ServerResponse, next: () => void): Promise<void> {
    const target = routedTarget(request);
    if (this.skips.has(request.method, target)) this.check.add(request);
    else await this.door.pass(request, target, response);
    next();
  }
}
