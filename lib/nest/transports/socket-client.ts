import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestSource } from '../../core/keys/key-resolver.js';

/** A client of a gateway, as far as it is looked at: a socket of socket.io, or a WebSocket of ws. */
export interface SocketClient {
  /** Set by the application: whoever was authenticated. */
  readonly user?: unknown;
  readonly data?: { readonly user?: unknown };
  /** Of socket.io. What a client says in `auth` is not believed. */
  readonly handshake?: { readonly address?: string; readonly headers?: IncomingHttpHeaders };
  /** The request that opened the connection. ws does not keep it, an application may. */
  readonly request?: IncomingMessage & { readonly user?: unknown };
  /** Of ws. */
  readonly _socket?: Socket | null;
  readonly readyState?: number;
  /** Of socket.io. */
  readonly disconnected?: boolean;
  once?(event: string, listener: () => void): unknown;
  emit?(event: string, payload: unknown): unknown;
  send?(text: string): void;
  disconnect?(close: boolean): unknown;
  close?(code: number, reason: string): void;
}

/** `Try Again Later`, of the codes by which a WebSocket is closed. */
const TRY_AGAIN_LATER = 1013;
const CLOSING = 2;
/** A reason may have 123 bytes. */
const MAX_REASON_LENGTH = 120;

/** Who is at the other end. */
export function sourceOf(
  client: SocketClient,
  upgradeHeaders: IncomingHttpHeaders | undefined,
): RequestSource {
  const { handshake, request, _socket: socket } = client;
  return {
    ip: handshake?.address ?? socket?.remoteAddress ?? request?.socket.remoteAddress,
    headers: handshake?.headers ?? request?.headers ?? upgradeHeaders,
    user: client.user ?? client.data?.user ?? request?.user,
  };
}

/** Calls back once when the client is gone, at once if it is already. */
export function whenGone(client: SocketClient, callBack: () => void): void {
  if (client.disconnected === true || (client.readyState ?? 0) >= CLOSING) return callBack();
  // By socket.io a client can send an event of almost any name, but not one called "disconnect".
  client.once?.(isNative(client) ? 'close' : 'disconnect', callBack);
}

/** Tells a client why it may not stay, as Nest tells exceptions, and closes the connection. */
export function turnAway(client: SocketClient, payload: object, reason: string): void {
  if (isNative(client)) {
    client.send?.(JSON.stringify({ event: 'exception', data: payload }));
    client.close?.(TRY_AGAIN_LATER, reason.slice(0, MAX_REASON_LENGTH));
    return;
  }
  client.emit?.('exception', payload);
  client.disconnect?.(true);
}

/** A WebSocket as browsers know it has a number for its state; a socket of socket.io has none. */
function isNative({ readyState }: SocketClient): boolean {
  return typeof readyState === 'number';
}
