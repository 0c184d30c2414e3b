import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { BadGatewayException, Inject, Injectable, NotFoundException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { createProxyServer } from 'httpxy';
import { GatewayLimiter } from 'nestjs-floodgate';

/** Where the backends are, by name. */
export type Addresses = Readonly<Record<string, string>>;
/** Injects the addresses. */
export const ADDRESSES = Symbol('ADDRESSES');

/** Hands requests on to the backend of their route. It sees those that the limits let pass. */
@Injectable()
export class Proxy implements OnApplicationBootstrap {
  readonly #proxy = createProxyServer({ xfwd: true });

  constructor(
    private readonly gateway: GatewayLimiter,
    private readonly adapterHost: HttpAdapterHost,
    @Inject(ADDRESSES) private readonly addresses: Addresses,
  ) {}

  onApplicationBootstrap(): void {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.#upgrade(request, socket, head).catch(() => socket.destroy());
    });
  }

  async forward(request: Request, response: Response): Promise<void> {
    const target = this.#targetOf(request.hostname, request.originalUrl);
    if (target === undefined) throw new NotFoundException();
    try {
      await this.#proxy.web(request, response, { target });
    } catch {
      if (!response.headersSent) throw new BadGatewayException();
      response.destroy();
    }
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const target = this.#targetOf(request.headers.host, request.url ?? '/');
    if (target === undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
      return;
    }
    await this.#proxy.ws(request, socket, { target }, head);
  }

  #targetOf(host: string | undefined, path: string): string | undefined {
    const match = this.gateway.match(host, path);
    return match && this.addresses[match.backend];
  }
}
