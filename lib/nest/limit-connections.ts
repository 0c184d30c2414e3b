import type { Server, Socket } from 'node:net';
import type { GatewayLimiter, GatewayTarget } from '../gateway/gateway-limiter.js';
import { reportLostRelease } from './release-when-done.js';

/**
 * Keeps the sockets of a server to the limits of connections. One that is too many is closed; the
 * others hold their place until they end. Returns what stops it for sockets that come later.
 */
export function limitConnections(
  server: Server,
  gateway: GatewayLimiter,
  target: Omit<GatewayTarget, 'clientIp'> = {},
): () => void {
  const admit = (socket: Socket) => {
    // Nothing is read before it is known whether it may stay.
    socket.pause();
    gateway.tryAcquireConnection({ ...target, clientIp: socket.remoteAddress ?? 'unknown' }).then(
      (answer) => {
        if (!answer.allowed) {
          socket.destroy();
          return;
        }
        const release = () => void answer.release().catch(reportLostRelease);
        if (socket.destroyed) release();
        else socket.once('close', release).resume();
      },
      () => socket.resume(),
    );
  };
  server.on('connection', admit);
  return () => void server.off('connection', admit);
}
