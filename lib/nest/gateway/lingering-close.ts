import type { Socket } from 'node:net';

/** How long a client may take to send something, and then to read the answer. */
const MAX_WAIT_MS = 1_000;
/** The most that is read of a client that keeps sending, in bytes. */
const MAX_DRAINED_BYTES = 1_048_576;
/** Sockets that may linger at the same time. Further ones are closed immediately. */
const MAX_LINGERING = 1_000;

let lingering = 0;

/** How to close. */
export interface LingeringCloseOptions {
  /**
   * Whether to wait a moment for the first bytes of the client: some are confused by an answer that
   * comes before their request.
   * @default false
   */
  readonly waitsForRequest?: boolean;
}

/**
 * Sends a last message and closes the socket. Until then it reads and drops what the client sends: a
 * socket that is closed with unread data is reset, and the client may lose the message.
 */
export function lingeringClose(
  socket: Socket,
  message: string | Buffer,
  { waitsForRequest = false }: LingeringCloseOptions = {},
): void {
  socket.on('error', () => undefined);
  if (lingering >= MAX_LINGERING) {
    socket.end(message);
    socket.destroySoon();
    return;
  }
  lingering++;
  let [timer, drained]: [NodeJS.Timeout | undefined, number] = [undefined, 0];
  const send = () => {
    if (socket.writableEnded) return;
    socket.end(message);
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
    else send();
  });
  socket.once('end', () => {
    send();
    socket.destroySoon();
  });
  if (waitsForRequest) timer = setTimeout(send, MAX_WAIT_MS).unref();
  else send();
  socket.resume();
}
