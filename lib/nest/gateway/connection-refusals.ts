import { Server as HttpServer, STATUS_CODES } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Server as TlsServer } from 'node:tls';
import type { GatewayAnswer } from '../../gateway/connections/gateway-answer.js';
import { lingeringClose } from './lingering-close.js';
import { RateLimitExceededException, retryAfterSeconds } from '../rate-limit-exceeded.exception.js';
import { RateLimitUnavailableException } from '../rate-limit-unavailable.exception.js';

/** Refused sockets that may be in their TLS handshake at the same time. */
const MAX_HANDSHAKES = 100;
/** How long a refused client may take for its handshake. */
const MAX_HANDSHAKE_MS = 5_000;
/** The listener by which Node's TLS servers begin a handshake. */
const TLS_LISTENER = 'tlsConnectionListener';
/** Empty SETTINGS, then GOAWAY with ENHANCE_YOUR_CALM and no stream processed. */
const HTTP2_REFUSAL = Buffer.from(
  '000000040000000000' + '000008070000000000' + '000000000000000b',
  'hex',
);

type Protocol = 'http' | 'http2' | 'other';

/** Refuses sockets of a server: with an answer if it speaks HTTP, else by closing them. */
export class ConnectionRefusals {
  readonly #protocol: Protocol;
  readonly #isSecure: boolean;
  /** Answers to send after the handshake, by the addresses and ports of the socket. */
  readonly #pending = new Map<string, GatewayAnswer>();

  constructor(private readonly server: Server) {
    this.#protocol = protocolOf(server);
    this.#isSecure = server instanceof TlsServer;
  }

  refuse(socket: Socket, answer: GatewayAnswer): void {
    if (this.#protocol === 'other') socket.destroy();
    else if (this.#isSecure) this.#refuseAfterHandshake(socket, answer);
    else sendRefusal(socket, this.#protocol, answer);
  }

  /** Answers a refused client after its handshake. Returns false for a socket that is not refused. */
  answerSecure(socket: Socket): boolean {
    const answer = this.#pending.size > 0 && this.#pending.get(peerOf(socket));
    if (!answer) return false;
    sendRefusal(socket, (socket as TLSSocket).alpnProtocol === 'h2' ? 'http2' : 'http', answer);
    return true;
  }

  #refuseAfterHandshake(socket: Socket, answer: GatewayAnswer): void {
    const begin = this.server.listeners('connection').find(({ name }) => name === TLS_LISTENER);
    const isKnown = socket.remotePort !== undefined;
    if (!begin || !isKnown || this.#pending.size >= MAX_HANDSHAKES) {
      socket.destroy();
      return;
    }
    const peer = peerOf(socket);
    this.#pending.set(peer, answer);
    const timer = setTimeout(() => socket.destroy(), MAX_HANDSHAKE_MS).unref();
    socket.once('close', () => {
      clearTimeout(timer);
      this.#pending.delete(peer);
    });
    begin.call(this.server, socket);
  }
}

function protocolOf(server: Server): Protocol {
  if (server instanceof HttpServer || server instanceof HttpsServer) return 'http';
  // Node does not export the classes of its HTTP/2 servers.
  return 'updateSettings' in server ? 'http2' : 'other';
}

function peerOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(' ');
}

function sendRefusal(socket: Socket, protocol: 'http' | 'http2', answer: GatewayAnswer): void {
  if (protocol === 'http2') lingeringClose(socket, HTTP2_REFUSAL);
  else lingeringClose(socket, responseTo(answer), { waitsForRequest: true });
}

function responseTo(answer: GatewayAnswer): string {
  const refusal =
    answer.reason === 'FAIL_CLOSED'
      ? new RateLimitUnavailableException()
      : new RateLimitExceededException(answer);
  const body = JSON.stringify(refusal.getResponse());
  const seconds = retryAfterSeconds(answer);
  const status = refusal.getStatus();
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Date: ${new Date().toUTCString()}`,
    ...(seconds === undefined ? [] : [`Retry-After: ${seconds}`]),
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
