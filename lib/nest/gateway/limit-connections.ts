import type { Server, Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { GatewayAnswer } from '../../gateway/connections/gateway-answer.js';
import type { GatewayLimiter } from '../../gateway/gateway-limiter.js';
import type { GatewayTarget } from '../../gateway/limits/gateway-target.js';
import { ConnectionRefusals } from './connection-refusals.js';
import { reportLostRelease } from '../release-when-done.js';

/** How long a socket waits for the store. Then it is closed. */
const MAX_HOLD_MS = 5_000;

type Emit = (event: string | symbol, ...args: unknown[]) => boolean;

/**
 * Applies the limits of connections to the sockets of a server of `net`, `tls`, `http`, `https` or
 * `http2`. The server is notified of a socket once it is admitted: no listener runs before, and what
 * the client sends waits. A socket that is refused is closed, on HTTP after an answer of 429. The others
 * count as open until they close. Returns the function that stops limiting later sockets.
 */
export function limitConnections(
  server: Server,
  gateway: GatewayLimiter,
  target: Omit<GatewayTarget, 'clientIp'> = {},
): () => void {
  const report = reportOnce();
  const refusals = new ConnectionRefusals(server);
  const emit = server.emit.bind(server) as Emit;
  let isStopped = false;
  // `emit` calls all listeners at once, so this is the only place to hold a socket back.
  server.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    const socket = args[0] as Socket;
    if (event === 'secureConnection' && refusals.answerSecure(socket)) return true;
    if (event !== 'connection' || isStopped) return emit(event, ...args);
    const clientIp = socket.remoteAddress ?? 'unknown';
    void hold(socket, {
      asked: gateway.tryAcquireConnection({ ...target, clientIp }),
      admit: () => emit(event, ...args),
      refuse: (answer) => refusals.refuse(socket, answer),
      report,
    });
    return true;
  };
  return () => void (isStopped = true);
}

/** What can happen to a socket. */
interface Outcomes {
  readonly asked: Promise<GatewayAnswer>;
  readonly admit: () => void;
  readonly refuse: (answer: GatewayAnswer) => void;
  readonly report: (error: Error) => void;
}

/** Nothing else listens to the socket yet. What it receives stays in its buffer, which is bounded. */
async function hold(socket: Socket, { asked, admit, refuse, report }: Outcomes): Promise<void> {
  const ignore = () => undefined;
  socket.on('error', ignore);
  const timer = setTimeout(() => socket.destroy(), MAX_HOLD_MS).unref();
  try {
    const answer = await asked;
    if (!answer.allowed) return socket.destroyed ? undefined : refuse(answer);
    releaseOnClose(socket, answer);
  } catch (error) {
    report(error as Error);
  } finally {
    clearTimeout(timer);
  }
  if (socket.destroyed) return;
  // In a tick of its own, so that an exception of a listener is not caught here.
  process.nextTick(() => {
    socket.off('error', ignore);
    admit();
  });
}

function releaseOnClose(socket: Socket, answer: GatewayAnswer): void {
  const release = () => void answer.release().catch(reportLostRelease);
  if (socket.destroyed) release();
  else socket.once('close', release);
}

function reportOnce(): (error: Error) => void {
  let isReported = false;
  return ({ message }) => {
    if (isReported) return;
    isReported = true;
    new Logger('RateLimit').error(`Connections are not limited, which is told once: ${message}`);
  };
}
