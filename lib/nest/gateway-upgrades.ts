import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { RequestSource } from '../core/keys/key-resolver.js';
import type { GatewayAnswer } from '../gateway/gateway-answer.js';
import { GatewayLimiter } from '../gateway/gateway-limiter.js';
import { GatewayClients } from './gateway-clients.js';
import { retryAfterSeconds } from './rate-limit-exceeded.exception.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { CHECKED_OPTIONS } from './rate-limit.module-definition.js';
import { reportLostRelease } from './release-when-done.js';

/**
 * Keeps connections that leave HTTP, as WebSockets do, to the limits: no middleware sees them. They
 * hold their place until they close.
 */
@Injectable()
export class GatewayUpgrades implements OnApplicationBootstrap {
  constructor(
    private readonly gateway: GatewayLimiter,
    private readonly clients: GatewayClients,
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
      const [request, socket] = args as [IncomingMessage & RequestSource, Socket];
      void this.#admit(request, socket, () => emit(event, ...args));
      return true;
    };
  }

  /** Undefined for a request that cannot be told where it goes. */
  async #enter(request: IncomingMessage & RequestSource): Promise<GatewayAnswer | undefined> {
    try {
      return await this.gateway.enter(this.clients.targetOf(request));
    } catch {
      return undefined;
    }
  }

  async #admit(
    request: IncomingMessage & RequestSource,
    socket: Socket,
    goOn: () => void,
  ): Promise<void> {
    const ignore = () => undefined;
    socket.on('error', ignore);
    const answer = await this.#enter(request);
    socket.off('error', ignore);
    if (answer === undefined) {
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
      return;
    }
    if (!answer.allowed) {
      const seconds = retryAfterSeconds(answer);
      const wait = seconds === undefined ? '' : `Retry-After: ${seconds}\r\n`;
      socket.end(`HTTP/1.1 429 Too Many Requests\r\n${wait}Connection: close\r\n\r\n`);
      return;
    }
    const release = () => void answer.release().catch(reportLostRelease);
    if (socket.destroyed) return release();
    socket.once('close', release);
    goOn();
  }
}
