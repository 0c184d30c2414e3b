import type { IncomingMessage, Server } from 'node:http';
import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { HttpException, Inject, Injectable, InternalServerErrorException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { GatewayAnswer } from '../gateway/gateway-answer.js';
import { GatewayDoor } from './gateway-door.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { CHECKED_OPTIONS } from './rate-limit.module-definition.js';
import { reportLostRelease } from './release-when-done.js';
import { upgradeRequest } from './upgrade-request.js';

/**
 * Keeps connections that leave HTTP, as WebSockets do, to the limits: no middleware sees them. They
 * hold their place until they close.
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

  /** Whoever handles upgrades hears of one when it is admitted: every listener would run otherwise. */
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
    // One that its client ended meanwhile tells nobody any more that it did: it would stay for good.
    if (socket.destroyed || socket.readableEnded) {
      socket.destroy();
      release();
      return;
    }
    socket.once('close', release);
    socket.off('error', ignore);
    goOn();
  }

  /** The connection, or undefined for one that was refused and told so. */
  async #enter(request: IncomingMessage, socket: Socket): Promise<GatewayAnswer | undefined> {
    const response = new ServerResponse(request);
    try {
      const framework: unknown = this.adapterHost.httpAdapter.getInstance();
      return await this.door.enter(upgradeRequest(request, framework), response);
    } catch (error) {
      const refusal = error instanceof HttpException ? error : new InternalServerErrorException();
      answer(response, refusal, socket);
      return undefined;
    }
  }
}

/** Tells it as the framework would, which does not see the request. */
function answer(response: ServerResponse, refusal: HttpException, socket: Socket): void {
  const body = JSON.stringify(refusal.getResponse());
  response.shouldKeepAlive = false;
  response.statusCode = refusal.getStatus();
  if (!response.hasHeader('Content-Type')) {
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
  }
  response.assignSocket(socket);
  // Does not wait for the client to hang up as well: nobody reads what it still sends.
  response.once('finish', () => socket.destroySoon());
  response.end(body);
}
