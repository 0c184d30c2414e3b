import { Server as HttpServer, STATUS_CODES } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Server as TlsServer } from 'node:tls';
import type { GatewayAnswer } from '../gateway/gateway-answer.js';
import { lingeringClose } from './lingering-close.js';
import { RateLimitExceededException, retryAfterSeconds } from './rate-limit-exceeded.exception.js';
import { RateLimitUnavailableException } from './rate-limit-unavailable.exception.js';

/** Sockets at once that shake hands only to be told that they are too many. */
const MAX_HANDSHAKES = 100;
/** How long a refused client may take for its handshake. */
const MAX_HANDSHAKE_MS = 5_000;
/** The listener by which Node's TLS servers begin a handshake. */
const TLS_LISTENER = 'tlsConnectionListener';
/** Empty settings, and a farewell that says "calm down" and that no stream was looked at. */
const HTTP2_FAREWELL = Buffer.from(
  '000000040000000000' + '000008070000000000' + '000000000000000b',
  'hex',
);

type Speech = 'http' | 'http2' | 'other';

/** How a server refuses sockets: in words where it speaks HTTP, else without. */
export class ConnectionRefusals {
  readonly #speech: Speech;
  readonly #isSecure: boolean;
  /** What clients are told once their handshake is over, by their address and port. */
  readonly #untold = new Map<string, GatewayAnswer>();

  constructor(private readonly server: Server) {
    this.#speech = speechOf(server);
    this.#isSecure = server instanceof TlsServer;
  }

  refuse(socket: Socket, answer: GatewayAnswer): void {
    if (this.#speech === 'other') socket.destroy();
    else if (this.#isSecure) this.#shakeHands(socket, answer);
    else farewell(socket, this.#speech, answer);
  }

  /** Answers a refused client of which the handshake is over; false for one that is not refused. */
  answerSecure(socket: Socket): boolean {
    const answer = this.#untold.size > 0 && this.#untold.get(peerOf(socket));
    if (!answer) return false;
    farewell(socket, (socket as TLSSocket).alpnProtocol === 'h2' ? 'http2' : 'http', answer);
    return true;
  }

  #shakeHands(socket: Socket, answer: GatewayAnswer): void {
    const begin = this.server.listeners('connection').find(({ name }) => name === TLS_LISTENER);
    const isKnown = socket.remotePort !== undefined;
    if (!begin || !isKnown || this.#untold.size >= MAX_HANDSHAKES) {
      socket.destroy();
      return;
    }
    const peer = peerOf(socket);
    this.#untold.set(peer, answer);
    const timer = setTimeout(() => socket.destroy(), MAX_HANDSHAKE_MS).unref();
    socket.once('close', () => {
      clearTimeout(timer);
      this.#untold.delete(peer);
    });
    begin.call(this.server, socket);
  }
}

function speechOf(server: Server): Speech {
  if (server instanceof HttpServer || server instanceof HttpsServer) return 'http';
  // Node does not export the classes of its HTTP/2 servers.
  return 'updateSettings' in server ? 'http2' : 'other';
}

function peerOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(' ');
}

function farewell(socket: Socket, speech: 'http' | 'http2', answer: GatewayAnswer): void {
  if (speech === 'http2') lingeringClose(socket, HTTP2_FAREWELL);
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
