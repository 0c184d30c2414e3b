import { Injectable, Logger } from '@nestjs/common';
import type { Phase } from '../../core/keys/key-resolver.js';
import type { Lease } from '../../core/lease.js';
import { RateLimitEnforcer } from '../rate-limit.enforcer.js';
import { reportLostRelease } from '../release-when-done.js';
import type { ConnectionContext } from './connection-context.js';
import type { SocketClient } from './socket-client.js';
import { turnAway, whenGone } from './socket-client.js';
import { UpgradeHeaders } from './upgrade-headers.js';

/** No guard comes in between, so what is known later is known now. */
const PHASES: readonly Phase[] = ['guard', 'interceptor'];

/** What is told when it is not a limit that says no. */
const FAILED = { status: 'error', message: 'Internal server error' };

/** A client at a gateway, and the slots that it holds while it is there. */
export class GatewayConnection {
  /** Whether the gateway has been told of it. */
  isAdmitted = false;
  #isGone = false;
  readonly #leases: Lease[] = [];

  get isGone(): boolean {
    return this.#isGone;
  }

  hold(lease: Lease): void {
    this.#leases.push(lease);
    if (this.#isGone) this.end();
  }

  /** Gives the slots back. It may be called by whoever hears first that the client is gone. */
  end(): void {
    this.#isGone = true;
    for (const lease of this.#leases.splice(0)) lease.release().catch(reportLostRelease);
  }
}

/** Keeps the connections of gateways to the limits of their `handleConnection`. */
@Injectable()
export class ConnectionLimiter {
  readonly #logger = new Logger('RateLimit');

  constructor(
    private readonly enforcer: RateLimitEnforcer,
    private readonly upgrades: UpgradeHeaders,
  ) {}

  /** Whether the client may stay; one that may not is told so and turned away. */
  async admit(connection: GatewayConnection, context: ConnectionContext): Promise<boolean> {
    const client = context.getArgByIndex<SocketClient>(0);
    this.upgrades.keep(client, context.getArgByIndex(1));
    whenGone(client, () => connection.end());
    try {
      for (const phase of PHASES) {
        const lease = await this.enforcer.enforce(context, phase);
        if (lease) connection.hold(lease);
      }
    } catch (error) {
      connection.end();
      this.#refuse(client, error as Error);
      return false;
    }
    connection.isAdmitted = !connection.isGone;
    return connection.isAdmitted;
  }

  #refuse(client: SocketClient, error: Error): void {
    const told = (error as { getError?: () => unknown }).getError?.();
    if (typeof told === 'object' && told !== null) return turnAway(client, told, error.message);
    this.#logger.error(`A connection could not be decided: ${error.message}`, error.stack);
    turnAway(client, FAILED, FAILED.message);
  }
}
