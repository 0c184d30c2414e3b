import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NestMiddleware } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { GatewayDoor } from './gateway-door.js';
import { releaseWhenDone } from './release-when-done.js';

/**
 * Keeps every request to the limits of its route, its backend, its client and the whole server. It
 * holds its connection until the response is finished or the client is gone.
 */
@Injectable()
export class GatewayMiddleware implements NestMiddleware<IncomingMessage, ServerResponse> {
  constructor(private readonly door: GatewayDoor) {}

  async use(request: IncomingMessage, response: ServerResponse, next: () => void): Promise<void> {
    const connection = await this.door.enter(request, response);
    releaseWhenDone(connection, response);
    next();
  }
}
