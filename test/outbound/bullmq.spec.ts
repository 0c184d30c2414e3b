import { afterEach, describe, expect, it } from '@jest/globals';
import { Queue, Worker } from 'bullmq';
import { Test } from '@nestjs/testing';
import { OutboundLimiter, RateLimitModule, WaitTimedOutError } from '../../lib/index.js';
import { HttpSite } from '../support/http-site.js';
import { sharedRedis, until } from '../support/redis-servers.js';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await HttpSite.closeAll();
});

async function outboundLimiter(): Promise<OutboundLimiter> {
  const rule = { requestsPerSecond: 1, burstCapacity: 1 };
  const module = await Test.createTestingModule({
    imports: [RateLimitModule.forRoot({ outbound: { default: rule } })],
  }).compile();
  await module.init();
  closing.push(() => module.close());
  return module.get(OutboundLimiter);
}

describe('a queue whose jobs go to one site', () => {
  it('is held as a whole when a turn is far, and no worker is', async () => {
    const site = await HttpSite.start();
    const outbound = await outboundLimiter();
    const shared = { connection: { url: sharedRedis.url }, prefix: `one-site-${process.pid}` };
    const queue = new Queue('pages', shared);
    closing.push(() => queue.close());
    const heldForMs: number[] = [];
    const limiter = { max: 100, duration: 1_000 };
    const worker = new Worker('pages', visit, { ...shared, concurrency: 2, limiter });
    closing.push(() => worker.close());

    async function visit(): Promise<number> {
      try {
        return (await outbound.fetch(site.url(), { timeoutMs: 0 })).status;
      } catch (error) {
        if (!(error instanceof WaitTimedOutError)) throw error;
        await worker.rateLimit(error.retryAfterMs ?? 1_000);
        heldForMs.push(await queue.getRateLimitTtl(limiter.max));
        throw Worker.RateLimitError();
      }
    }

    await queue.addBulk([
      { name: 'page', data: {} },
      { name: 'page', data: {} },
    ]);
    await until('both jobs', async () => (await queue.getCompletedCount()) === 2);
    const done = await queue.getCompleted();
    expect(done.map(({ returnvalue }) => returnvalue as unknown)).toEqual([200, 200]);
    expect(site.received).toHaveLength(2);
    expect(heldForMs.length).toBeGreaterThanOrEqual(1);
    expect(heldForMs[0]).toBeGreaterThan(0);
    expect(heldForMs[0]).toBeLessThanOrEqual(1_000);
    await queue.obliterate({ force: true });
  }, 60_000);
});
