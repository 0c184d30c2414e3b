import type { Server, Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { GatewayAnswer } from '../gateway/gateway-answer.js';
import type { GatewayLimiter } from '../gateway/gateway-limiter.js';
import type { GatewayTarget } from '../gateway/gateway-target.js';
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
  let isReported = false;
  const report = ({ message }: Error) => {
    if (isReported) return;
    isReported = true;
    new Logger('RateLimit').error(`Connections are not limited, which is told once: ${message}`);
  };
  const limit = (socket: Socket) => {
    const clientIp = socket.remoteAddress ?? 'unknown';
    admit(socket, gateway.tryAcquireConnection({ ...target, clientIp })).catch(report);
  };
  server.on('connection', limit);
  return () => void server.off('connection', limit);
}

/**
 * Nothing is read before it is known whether the socket may stay. One that nobody reads yet is left
 * as it is: were it made to flow, what comes before its reader would be lost.
 */
async function admit(socket: Socket, asked: Promise<GatewayAnswer>): Promise<void> {
  const flows = socket.readableFlowing === true;
  if (flows) socket.pause();
  try {
    settle(socket, await asked);
  } finally {
    if (flows) socket.resume();
  }
}

function settle(socket: Socket, answer: GatewayAnswer): void {
  if (!answer.allowed) {
    socket.destroy();
    return;
  }
  const release = () => void answer.release().catch(reportLostRelease);
  if (socket.destroyed) release();
  else socket.once('close', release);
}
