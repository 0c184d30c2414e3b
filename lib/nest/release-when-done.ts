import type { ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import type { Lease } from '../core/lease.js';

/**
 * Gives the slots back once, however the exchange ends: answered, failed, streamed to its end, or
 * left by the client. The socket is listened to as well: a pipelined response that still waits for
 * its turn hears nothing when the client goes.
 */
export function releaseWhenDone(lease: Lease, response: unknown): void {
  const raw = (response as { raw?: ServerResponse }).raw ?? (response as ServerResponse);
  const { socket } = raw.req;
  const release = () => {
    raw.off('finish', release).off('close', release);
    socket.off('close', release);
    lease.release().catch(reportLostRelease);
  };
  if (raw.closed || raw.writableFinished || socket.destroyed) {
    release();
    return;
  }
  raw.once('finish', release).once('close', release);
  socket.once('close', release);
}

/** Nobody waits for a release, so nobody else would hear of it. The slot comes back in time. */
export function reportLostRelease(error: Error): void {
  new Logger('RateLimit').warn(
    `A slot could not be given back, its lease will end: ${error.message}`,
  );
}
