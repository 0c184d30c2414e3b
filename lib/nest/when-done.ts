import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Whom to tell that a socket is closed. One listener for all: a client may send many requests at once. */
const waiting = new WeakMap<Socket, Set<() => void>>();

/** What Node sends, whatever the platform wraps around it. */
export function rawResponse(response: unknown): ServerResponse {
  return (response as { raw?: ServerResponse }).raw ?? (response as ServerResponse);
}

/**
 * Calls once, however the exchange ends: answered, failed, streamed to its end, or left by the
 * client. The socket is listened to as well: a pipelined response that still waits for its turn
 * hears nothing when the client goes.
 */
export function whenDone(response: unknown, listener: () => void): void {
  const raw = rawResponse(response);
  const { socket } = raw.req;
  let isDone = false;
  const done = () => {
    // A listener that is taken off while its event is being told hears of it all the same.
    if (isDone) return;
    isDone = true;
    raw.off('finish', done).off('close', done);
    waiting.get(socket)?.delete(done);
    listener();
  };
  if (raw.closed || raw.writableFinished || socket.destroyed) {
    done();
    return;
  }
  raw.once('finish', done).once('close', done);
  listenersOf(socket).add(done);
}

function listenersOf(socket: Socket): Set<() => void> {
  const known = waiting.get(socket);
  if (known) return known;
  const listeners = new Set<() => void>();
  waiting.set(socket, listeners);
  socket.once('close', () => {
    for (const listener of listeners) listener();
  });
  return listeners;
}
