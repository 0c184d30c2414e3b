import type { ServerResponse } from 'node:http';
import type { NestMiddleware } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { GatewayDoor } from './gateway-door.js';
import { GatewaySkipCheck } from './gateway-skip-check.js';
import { GatewaySkips } from './gateway-skips.js';
import { routedTarget } from './routed-target.js';
import type { FrameworkRequest } from './upgrade-request.js';

/**
 * Keeps every request to the limits of its route, its backend, its client and the whole server, but
 * for handlers that `@SkipRateLimit()` leaves out. It holds its connection until the response is
 * finished or the client is gone.
 */
@Injectable()
export class GatewayMiddleware implements NestMiddleware<FrameworkRequest, ServerResponse> {
  constructor(
    private readonly door: GatewayDoor,
    private readonly skips: GatewaySkips,
    private readonly check: GatewaySkipCheck,
  ) {}

  async use(request: FrameworkRequest, response: ServerResponse, next: () => void): Promise<void> {
    if (this.skips.has(request.method, routedTarget(request))) this.check.add(request);
    else await this.door.pass(request, response);
    next();
  }
}
