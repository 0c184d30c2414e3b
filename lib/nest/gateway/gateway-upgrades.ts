import type { IncomingMessage, Server } from 'node:http';
import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { HttpException, Inject, Injectable, InternalServerErrorException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { GatewayAnswer } from '../../gateway/connections/gateway-answer.js';
import { GatewayDoor } from './gateway-door.js';
import type { CheckedOptions } from '../rate-limit-options.js';
import { CHECKED_OPTIONS } from '../rate-limit.module-definition.js';
import { reportLostRelease } from '../release-when-done.js';
import { routedTarget } from './routed-target.js';
import { upgradeRequest } from './upgrade-request.js';

/**
 * Limits connections that are upgraded, such as WebSockets: no middleware sees them. They count as open
 * until they close.
 */
@Injectable()
export class GatewayUpgrades implements OnApplicationBootstrap {
  constructor(
    private readonly door: GatewayDoor,
    private readonly adapterHost: HttpAdapterHost,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.options.gateway) return;
    const server = this.adapterHost.httpAdapter?.getHttpServer() as Server | undefined;
    if (server) this.#guard(server);
  }

  /** Emits an upgrade once it is admitted, so that no listener runs for one that is refused. */
  #guard(server: Server): void {
    const emit = server.emit.bind(server) as (event: string, ...args: unknown[]) => boolean;
    server.emit = (event: string, ...args: unknown[]): boolean => {
      if (event !== 'upgrade') return emit(event, ...args);
      const [request, socket] = args as [IncomingMessage, Socket];
      void this.#admit(request, socket, () => emit(event, ...args));
      return true;
    };
  }

  async #admit(request: IncomingMessage, socket: Socket, goOn: () => void): Promise<void> {
    const ignore = () => undefined;
    socket.on('error', ignore);
    const connection = await this.#enter(request, socket);
    if (!connection) return;
    const release = () => void connection.release().catch(reportLostRelease);
    // `close` may already have fired: release now, or the connection stays counted.
    if (socket.destroyed || socket.readableEnded) {
      socket.destroy();
      release();
      return;
    }
    socket.once('close', release);
    socket.off('error', ignore);
    goOn();
  }

  /** The connection; undefined if it was refused, which the client has been sent. */
  async #enter(request: IncomingMessage, socket: Socket): Promise<GatewayAnswer | undefined> {
    const response = new ServerResponse(request);
    try {
      const framework: unknown = this.adapterHost.httpAdapter.getInstance();
      const upgrade = upgradeRequest(request, framework);
      return await this.door.enter(upgrade, routedTarget(upgrade), response);
    } catch (error) {
      const refusal = error instanceof HttpException ? error : new InternalServerErrorException();
      answer(response, refusal, socket);
      return undefined;
    }
  }
}

/** Sends the refusal as the framework would, which does not see the request. */
function answer(response: ServerResponse, refusal: HttpException, socket: Socket): void {
  const body = JSON.stringify(refusal.getResponse());
  response.shouldKeepAlive = false;
  response.statusCode = refusal.getStatus();
  if (!response.hasHeader('Content-Type')) {
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
  }
  response.assignSocket(socket);
  // Closes without waiting for the client: nothing reads what it still sends.
  response.once('finish', () => socket.destroySoon());
  response.end(body);
}
