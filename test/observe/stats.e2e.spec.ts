import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { RateLimitOptions } from '../../lib/index.js';
import {
  AdaptiveThrottler,
  GatewayLimiter,
  InMemoryPlanRegistry,
  LimitStore,
  OutboundLimiter,
  RateLimiter,
  RateLimitStats,
} from '../../lib/index.js';
import { closeApps } from '../support/http-app.js';
import { sharedRedis, until } from '../support/redis-servers.js';
import { DELAYED_OVER_MS } from '../../lib/outbound/limit-stats.js';
import { planIn, snapshotOf, startObserved } from './observed-app.js';

jest.setTimeout(40_000);

afterEach(closeApps);

const onRedis = (): RateLimitOptions => ({
  redis: sharedRedis.url,
  keyPrefix: `observe-${randomUUID()}`,
  deadlineMs: 2_000,
});
const STORES: Record<string, () => RateLimitOptions> = { embedded: () => ({}), redis: onRedis };

describe.each(Object.entries(STORES))('traffic, %s', (kind, options) => {
  it('is counted as it was answered', async () => {
    const app = await startObserved(options());
    expect(await app.statuses(7, '/pair')).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(await app.statuses(3, '/pair', { from: '127.0.0.2' })).toEqual([200, 200, 200]);
    expect(await app.statuses(2, '/closed')).toEqual([429, 429]);
    expect(await app.statuses(2, '/tried')).toEqual([200, 200]);
    const stats = snapshotOf(app);
    expect(stats.totals).toEqual({
      ...{ allowed: 10, delayed: 0, denied: 4, shadowDenied: 1 },
      ...{ failedOpen: 0, failedClosed: 0, failedLocal: 0 },
    });
    expect(planIn(stats, 'gold')).toMatchObject({
      ...{ allowed: 8, denied: 2, deniedByZero: 0, shadowDenied: 0, kind: 'sliding-window' },
      // 1 and 0 of 5 are left after the fourth and the fifth.
      ...{ nearLimit: 2, quota: 5, windowMs: 86_400_000, shadow: false, peakUse: 1 },
      fromDenyCache: kind === 'redis' ? 1 : 0,
    });
    // What gold denied cost daily nothing.
    expect(planIn(stats, 'daily')).toMatchObject({ allowed: 10, denied: 0, nearLimit: 0 });
    expect(planIn(stats, 'closed')).toMatchObject({ allowed: 0, denied: 2, deniedByZero: 2 });
    expect(planIn(stats, 'tried')).toMatchObject({ allowed: 1, denied: 0, shadowDenied: 1 });
    expect(planIn(stats, 'slots')).toMatchObject({ allowed: 0, denied: 0, peakUse: 0 });
    expect(stats.store).toMatchObject({ status: 'up', failingSinceAtMs: null, servers: [] });
    expect(stats.store.kind).toBe(kind === 'redis' ? 'redis' : 'memory');
  });

  it('shows who asks most, and who was denied last, with masked keys', async () => {
    const app = await startObserved(options());
    await app.statuses(7, '/pair', { from: '127.0.0.77' });
    await app.statuses(2, '/pair', { from: '127.0.0.78' });
    const { topKeys, lastDenials } = snapshotOf(app);
    expect(topKeys.requests.map(({ policy, count }) => [policy, count])).toEqual([
      ['gold', 7],
      ['daily', 5],
      ['gold', 2],
      ['daily', 2],
    ]);
    expect(topKeys.denials).toMatchObject([{ policy: 'gold', count: 2, atLeast: 2, atMost: 2 }]);
    expect(lastDenials.map(({ policy }) => policy)).toEqual(['gold', 'gold']);
    expect(lastDenials[0]!.retryAfterMs).toBeGreaterThan(1_000);
    expect(lastDenials[0]!.atMs).toBeGreaterThanOrEqual(lastDenials[1]!.atMs);
    expect(lastDenials[0]!.key).toBe(topKeys.denials[0]!.key);
    expect(topKeys.requests[0]!.key).toMatch(/^ip…77 #[\da-f]{4}$/);
    expect(JSON.stringify(snapshotOf(app))).not.toContain('127.0.0');
  });

  it('counts slots that are held and how long, turns that were booked, and refunds', async () => {
    const app = await startObserved(options());
    const limiter = app.provider(RateLimiter);
    const leases = await Promise.all([1, 2, 3].map(() => limiter.acquire('ada', 'slots')));
    expect(planIn(snapshotOf(app), 'slots')).toMatchObject({ allowed: 3, leasesHeld: 3 });
    await leases[0]!.release();
    await leases[0]!.release();
    await limiter.reserve('ada', 'steady', { maxWaitMs: 10_000 });
    const booked = await limiter.reserve('ada', 'steady', { maxWaitMs: 10_000 });
    await limiter.refund('ada', 'daily');
    await limiter.peek('ada', 'daily');
    const stats = snapshotOf(app);
    expect(planIn(stats, 'slots').leasesHeld).toBe(2);
    expect(planIn(stats, 'slots').leaseTimes.count).toBe(1);
    expect(planIn(stats, 'daily')).toMatchObject({ refunds: 1, allowed: 0 });
    expect(planIn(stats, 'steady')).toMatchObject({ allowed: 2, delayed: 1 });
    const { count, maxMs } = planIn(stats, 'steady').waits;
    expect(count).toBe(1);
    expect(Math.ceil(maxMs)).toBe(booked.waitMs);
    expect(stats.totals).toMatchObject({ allowed: 4, delayed: 1, denied: 0 });
  });

  it('counts no request and no denial when a charge is settled', async () => {
    const app = await startObserved(options());
    const lease = await app.provider(RateLimiter).acquire('ada', ['gold', 'steady', 'daily']);
    const counted = snapshotOf(app);
    await lease.settle('gold', 50);
    await lease.settle('steady', 50);
    await lease.settle('daily', 50);
    const stats = snapshotOf(app);
    expect(stats.totals).toEqual(counted.totals);
    expect(stats.lastDenials).toEqual([]);
    for (const name of ['gold', 'steady', 'daily']) {
      expect(planIn(stats, name)).toMatchObject({ allowed: 1, delayed: 0, denied: 0 });
      expect(planIn(stats, name).waits.count).toBe(0);
    }
  });

  it('names the levels of a gateway, not its clients', async () => {
    const gateway = {
      server: { rateLimit: { maxQps: 100, maxQpsPerClient: 50 } },
      backends: [
        { name: 'api', rateLimit: { maxQps: 0 } },
        { name: 'web', rateLimit: { maxConnections: 3 } },
      ],
    };
    const app = await startObserved({ ...options(), gateway });
    const limiter = app.provider(GatewayLimiter);
    const to = (backend: string, clientIp: string) => limiter.enter({ backend, clientIp });
    await to('api', '10.1.2.3');
    await to('web', '10.1.2.3');
    const open = await to('web', '10.1.2.4');
    const stats = snapshotOf(app);
    expect(stats.gateway.map(({ policy }) => policy).sort()).toEqual([
      'backend-connections:web',
      'backend-qps:api',
      'client-qps',
      'server-qps',
    ]);
    expect(planIn(stats, 'backend-qps:api')).toMatchObject({ denied: 1, deniedByZero: 1 });
    expect(planIn(stats, 'server-qps')).toMatchObject({ allowed: 2, denied: 0, quota: 100 });
    expect(planIn(stats, 'backend-connections:web')).toMatchObject({ allowed: 2, leasesHeld: 2 });
    expect(stats.topKeys.requests.map(({ policy, count }) => [policy, count])).toEqual([
      ['client-qps', 1],
      ['client-qps', 1],
    ]);
    expect(JSON.stringify(stats)).not.toContain('10.1.2');
    await open.release();
    expect(planIn(snapshotOf(app), 'backend-connections:web').leasesHeld).toBe(1);
  });

  it('does not take connections that are open for requests when a limit comes later', async () => {
    const gateway = { backends: [{ name: 'web', rateLimit: { maxQps: 100 } }] };
    const app = await startObserved({ ...options(), gateway });
    const limiter = app.provider(GatewayLimiter);
    await limiter.enter({ backend: 'web', clientIp: '10.1.2.3' });
    await limiter.updateBackend('web', { maxQps: 100, maxConnections: 5 });
    const stats = snapshotOf(app);
    expect(stats.totals).toMatchObject({ allowed: 1, denied: 0 });
    const connections = planIn(stats, 'backend-connections:web');
    expect(connections).toMatchObject({ allowed: 0, leasesHeld: 1 });
    expect(stats.config.reloads).toBe(1);
  });

  it('counts outbound calls by the rule of their domain', async () => {
    const slow = { requestsPerSecond: 20, burstCapacity: 1 };
    const outbound = {
      default: { requestsPerSecond: 0.001, burstCapacity: 2 },
      domains: { '*.example.com': slow, 'off.test': { ...slow, maxConcurrent: 0 } },
    };
    const app = await startObserved({ ...options(), outbound });
    const limiter = app.provider(OutboundLimiter);
    const permits = [await limiter.wait('a.example.com'), await limiter.wait('a.example.com')];
    // One, unless the machine is busy.
    const waitsMs = permits.map(({ waitedMs }) => waitedMs);
    const delayed = waitsMs.filter((waitedMs) => waitedMs > DELAYED_OVER_MS).length;
    await limiter.allow('one.test');
    await limiter.allow('one.test');
    await limiter.allow('one.test');
    await expect(limiter.wait('one.test', { timeoutMs: 0 })).rejects.toThrow();
    await expect(limiter.wait('off.test')).rejects.toThrow();
    const aborter = new AbortController();
    const waiting = limiter.wait('one.test', { signal: aborter.signal });
    await until('somebody to wait', () => snapshotOf(app).outbound[0]!.waiting === 1);
    expect(snapshotOf(app).outbound[0]!.domains).toMatchObject([
      { domain: 'one.test', waiting: 1 },
    ]);
    aborter.abort();
    await expect(waiting).rejects.toThrow();
    await app.provider(AdaptiveThrottler).recordBlock('b.example.com', 'RATE_LIMITED', {
      retryAfterMs: 60_000,
    });
    const stats = snapshotOf(app);
    const [standard, off, wild] = stats.outbound;
    expect(wild).toMatchObject({
      policy: '*.example.com',
      allowed: 2 - delayed,
      delayed,
      waiting: 0,
    });
    expect(wild!.waits.count).toBe(2);
    expect(wild!.waits.maxMs).toBe(Math.max(...waitsMs));
    expect(wild!.cooldown).toMatchObject({ state: 'cooling', opened: 1, recovered: 0 });
    expect(wild!.cooldown.remainingMs).toBeGreaterThan(30_000);
    expect(standard).toMatchObject({ policy: 'default', allowed: 2, delayed: 0, waiting: 0 });
    expect(standard!.denied).toMatchObject({ rate: 1, timeout: 1, canceled: 1 });
    expect(standard!.cancellations.count).toBe(1);
    expect(off).toMatchObject({ policy: 'off.test', denied: { deny_list: 1 } });
    expect(stats.totals).toMatchObject({ allowed: 4 - delayed, delayed, denied: 4 });
    expect(stats.gateway).toEqual([]);
  });
});

describe('the stats of an application', () => {
  it('begin anew after a reset; what is going on stays known', async () => {
    const app = await startObserved();
    await app.statuses(7, '/pair');
    const lease = await app.provider(RateLimiter).acquire('ada', 'slots');
    app.provider(RateLimitStats).reset();
    const stats = snapshotOf(app);
    expect(stats.totals).toMatchObject({ allowed: 0, denied: 0 });
    expect(planIn(stats, 'gold')).toMatchObject({ allowed: 0, denied: 0, peakUse: 0 });
    expect(stats.topKeys).toEqual({ requests: [], denials: [] });
    expect(stats.lastDenials).toEqual([]);
    expect(planIn(stats, 'slots')).toMatchObject({ allowed: 0, leasesHeld: 1 });
    await lease.release();
    expect(await app.statuses(1, '/pair')).toEqual([429]);
    expect(planIn(snapshotOf(app), 'gold').denied).toBe(1);
  });

  it('add up in every snapshot, however busy it is', async () => {
    const app = await startObserved();
    const limiter = app.provider(RateLimiter);
    let running = true;
    const work = Array.from({ length: 8 }, async (_, i) => {
      for (let n = 0; running; n++) {
        await limiter.allow(`key-${(n * 8 + i) % 30}`, ['gold', 'daily']);
        if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const looks: unknown[] = [];
    for (let i = 0; i < 50; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      const { totals, plans } = snapshotOf(app);
      const gold = plans.find(({ policy }) => policy === 'gold')!;
      looks.push([gold.allowed - totals.allowed, gold.denied - totals.denied]);
    }
    running = false;
    await Promise.all(work);
    expect(looks).toEqual(looks.map(() => [0, 0]));
    expect(snapshotOf(app).totals.denied).toBeGreaterThan(0);
  });

  it('are written as JSON', async () => {
    const app = await startObserved();
    await app.statuses(2, '/pair');
    const written = JSON.parse(JSON.stringify(app.provider(RateLimitStats))) as typeof stats;
    const stats = snapshotOf(app);
    expect({ ...written, takenAtMs: 0 }).toEqual({ ...stats, takenAtMs: 0 });
  });

  it('keep a changed plan under its name, and tell that it was changed', async () => {
    const app = await startObserved();
    await app.statuses(6, '/pair');
    app.provider(InMemoryPlanRegistry).set('gold', { limit: 50, windowMs: 86_400_000 });
    await app.statuses(1, '/pair');
    const stats = snapshotOf(app);
    expect(planIn(stats, 'gold')).toMatchObject({ quota: 50, allowed: 6, denied: 1 });
    expect(planIn(stats, 'gold').peakUse).toBeCloseTo(6 / 50);
    expect(stats.config).toMatchObject({ reloads: 1, failedReloads: 0 });
  });

  it('leave the store as it was given', async () => {
    const app = await startObserved();
    await app.statuses(3, '/pair');
    expect(snapshotOf(app).store).toMatchObject({ kind: 'memory', keys: 2, evictions: 0 });
    expect(app.provider(LimitStore)).toHaveProperty('size', 2);
  });
});
