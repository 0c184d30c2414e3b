import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { SocketClient } from './socket-client.js';

/**
 * Remembers the headers with which sockets were upgraded: ws tells them once, when a client connects,
 * and keeps nothing.
 */
@Injectable()
export class UpgradeHeaders implements OnApplicationShutdown {
  readonly #headers = new WeakMap<Duplex, IncomingHttpHeaders>();
  #server: Server | undefined;

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  /** Listens to the server of the application, once. */
  listen(): void {
    const server = this.adapterHost.httpAdapter?.getHttpServer() as Server | undefined;
    // Where nobody else listens, Node answers upgrades itself: a listener of ours would keep it from that.
    if (this.#server || !server || server.listenerCount('upgrade') === 0) return;
    this.#server = server.prependListener('upgrade', this.#remember);
  }

  /** Takes down the headers that a client of ws connected with; one of socket.io has them itself. */
  keep({ _socket: socket }: SocketClient, request: Partial<IncomingMessage> | undefined): void {
    if (socket && request?.headers) this.#headers.set(socket, request.headers);
  }

  of({ _socket: socket }: SocketClient): IncomingHttpHeaders | undefined {
    return socket ? this.#headers.get(socket) : undefined;
  }

  onApplicationShutdown(): void {
    this.#server?.off('upgrade', this.#remember);
  }

  readonly #remember = ({ headers }: IncomingMessage, socket: Duplex): void => {
    this.#headers.set(socket, headers);
  };
}
