import { setTimeout as pause } from 'node:timers/promises';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { AdaptiveThrottler, OutboundLimiter } from 'nestjs-floodgate';

const TICK_MS = 100;
/** Seconds from one rush to the next. */
const TIDE_SECONDS = 45;
/** Calls that may wait at once: traffic that is made up need not pile up. */
const MAX_WAITING = 40;

/** Who comes, and how often a second on average; the last one does not know when to stop. */
const VISITORS = [
  ['ada', 4],
  ['bob', 3],
  ['carol', 2],
  ['dave', 1],
  ['a-hasty-script', 11],
] as const;

/** Visitors and calls to others, made up in this process. */
@Injectable()
export class Traffic implements BeforeApplicationShutdown {
  #timer: NodeJS.Timeout | undefined;
  #waiting = 0;

  constructor(
    private readonly outbound: OutboundLimiter,
    private readonly throttler: AdaptiveThrottler,
  ) {}

  start(url: string): void {
    this.#timer = setInterval(() => this.#tick(url), TICK_MS);
  }

  beforeApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  #tick(url: string): void {
    const tide = 0.6 + 0.4 * Math.sin((Date.now() / 1_000 / TIDE_SECONDS) * 2 * Math.PI);
    const chance = (perSecond: number) => Math.random() < (perSecond * tide * TICK_MS) / 1_000;
    for (const [name, perSecond] of VISITORS) {
      const path = Math.random() < 0.15 ? 'checkout' : Math.random() < 0.1 ? 'export' : 'search';
      if (chance(perSecond)) void visit(`${url}/shop/${path}`, name);
    }
    if (chance(7)) void this.#call('api.payments.test');
    if (chance(3)) void this.#call('eu.shipping.test');
    if (chance(2)) void this.#call('us.shipping.test');
  }

  async #call(domain: string): Promise<void> {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting++;
    const permit = await this.outbound.wait(domain, { timeoutMs: 20_000 }).catch(() => undefined);
    this.#waiting--;
    if (!permit) return;
    await pause(50 + Math.random() * 300);
    const isBlocked = domain === 'us.shipping.test' && Math.random() < 0.5;
    if (isBlocked) await this.throttler.recordBlock(domain, '429_rate_limited', { permit });
    else await this.throttler.recordSuccess(domain, { permit });
    await permit.release();
  }
}

/** Whatever comes back, the visitor goes on. */
async function visit(url: string, visitor: string): Promise<void> {
  const response = await fetch(url, { headers: { 'x-visitor': visitor } }).catch(() => undefined);
  await response?.arrayBuffer().catch(() => undefined);
}
