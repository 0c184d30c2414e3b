import type { Socket } from 'node:net';

/** How long a client may take to send something, and then to read what it is told. */
const MAX_WAIT_MS = 1_000;
/** Bytes that are read of a client that goes on sending. */
const MAX_DRAINED_BYTES = 1_048_576;
/** Sockets that are waited for at once; more are closed at once. */
const MAX_LINGERING = 1_000;

let lingering = 0;

/** How to end. */
export interface LingeringCloseOptions {
  /**
   * Whether to wait for the first bytes of the client, as an answer that comes before them confuses
   * some; not for long.
   * @default false
   */
  readonly waitsForRequest?: boolean;
}

/**
 * Sends a last word and closes the socket. Reads on for a while, and drops what comes: a socket that
 * is closed with something unread is reset, and the client never sees the last word.
 */
export function lingeringClose(
  socket: Socket,
  lastWord: string | Buffer,
  { waitsForRequest = false }: LingeringCloseOptions = {},
): void {
  socket.on('error', () => undefined);
  if (lingering >= MAX_LINGERING) {
    socket.end(lastWord);
    socket.destroySoon();
    return;
  }
  lingering++;
  let [timer, drained]: [NodeJS.Timeout | undefined, number] = [undefined, 0];
  const speak = () => {
    if (socket.writableEnded) return;
    socket.end(lastWord);
    clearTimeout(timer);
    timer = setTimeout(() => socket.destroy(), MAX_WAIT_MS).unref();
  };
  socket.once('close', () => {
    lingering--;
    clearTimeout(timer);
  });
  socket.on('data', ({ length }: Buffer) => {
    drained += length;
    if (drained > MAX_DRAINED_BYTES) socket.destroy();
    else speak();
  });
  socket.once('end', () => {
    speak();
    socket.destroySoon();
  });
  if (waitsForRequest) timer = setTimeout(speak, MAX_WAIT_MS).unref();
  else speak();
  socket.resume();
}
