import type { Server, Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { GatewayAnswer } from '../gateway/gateway-answer.js';
import type { GatewayLimiter } from '../gateway/gateway-limiter.js';
import type { GatewayTarget } from '../gateway/gateway-target.js';
import { ConnectionRefusals } from './connection-refusals.js';
import { reportLostRelease } from './release-when-done.js';

/** How long a socket is held while the store is asked; it is closed then. */
const MAX_HOLD_MS = 5_000;

type Emit = (event: string | symbol, ...args: unknown[]) => boolean;

/**
 * Keeps the sockets of a server to the limits of connections: of `net`, `tls`, `http`, `https` and
 * `http2`. The server hears of a socket once it is admitted, so nothing runs for one that is not, and
 * what a client sends meanwhile waits. One that is too many is closed; where HTTP is spoken it is
 * answered 429 first. The others hold their place until they end. Returns what stops it for sockets
 * that come later.
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
  // Listeners are told in one go: whatever is to be kept from them has to be kept from all.
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

/** What becomes of a socket. */
interface Outcomes {
  readonly asked: Promise<GatewayAnswer>;
  readonly admit: () => void;
  readonly refuse: (answer: GatewayAnswer) => void;
  readonly report: (error: Error) => void;
}

/** Nobody else listens to the socket yet. What it brings stays in its buffer, which is bounded. */
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
  // What a listener throws is not ours to catch.
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
