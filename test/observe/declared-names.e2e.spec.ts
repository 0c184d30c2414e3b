import 'reflect-metadata';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { PlanDefinition, RateLimitOptions } from '../../lib/index.js';
import {
  GatewayLimiter,
  InMemoryPlanRegistry,
  OutboundLimiter,
  PlanRegistry,
  RateLimit,
  RateLimiter,
  RateLimitStats,
} from '../../lib/index.js';
import { RateLimitPrometheusModule } from '../../lib/observe/prometheus/index.js';
import type { HttpApp } from '../support/http-app.js';
import { closeApps } from '../support/http-app.js';
import { planIn, snapshotOf, startObserved } from './observed-app.js';

jest.setTimeout(40_000);

afterEach(closeApps);

/** A plan for every customer, known to nobody before its first request. */
class Customers extends PlanRegistry {
  override find(name: string): PlanDefinition | undefined {
    return name.startsWith('tenant-') || name === 'partners'
      ? { limit: 1, windowMs: 86_400_000 }
      : undefined;
  }
}

@Controller()
class Logins {
  @Get('login')
  @RateLimit({ plan: 'login', key: 'ip' })
  login(): string {
    return 'ok';
  }

  @Get('partners')
  @RateLimit({ plan: ['partners', '3/day'], key: 'ip' })
  partners(): string {
    return 'ok';
  }
}

const DECLARED: RateLimitOptions = {
  plans: {
    login: { limit: 2, windowMs: 86_400_000 },
    gold: '5/day',
    daily: '100/day',
    closed: { capacity: 0, tokensPerSecond: 0 },
    tried: { capacity: 1, tokensPerSecond: 0.0001, shadow: true },
  },
  registry: new Customers(),
  gateway: {
    server: { rateLimit: { maxQps: 1_000, maxQpsPerClient: 900 } },
    backends: [{ name: 'api', rateLimit: { maxQps: 1 } }],
  },
  outbound: {
    domains: { 'api.test': { requestsPerSecond: 0.001, burstCapacity: 1 } },
  },
};

interface Observed {
  readonly app: HttpApp;
  readonly scrape: () => Promise<ReadonlyMap<string, number>>;
}

async function start(options: RateLimitOptions = DECLARED): Promise<Observed> {
  const registry = new Registry();
  const imports = [RateLimitPrometheusModule.forRoot({ registry })];
  const app = await startObserved(options, { imports, controllers: [Logins] });
  const scrape = async () => {
    // All that is scraped in one turn of the event loop tells of the same moment.
    await new Promise((resolve) => setImmediate(resolve));
    return seriesIn(await registry.metrics());
  };
  return { app, scrape };
}

/** Samples by their series. Prometheus refuses a scrape that has one twice. */
function seriesIn(text: string): ReadonlyMap<string, number> {
  const series = new Map<string, number>();
  for (const line of text.split('\n').filter((one) => one !== '' && !one.startsWith('#'))) {
    const [name, value] = [line.slice(0, line.lastIndexOf(' ')), line.split(' ').at(-1)];
    if (series.has(name)) throw new Error(`The scrape has ${name} twice.`);
    series.set(name, Number(value));
  }
  return series;
}

const requests = (policy: string, result: string, reason = '', way = 'inbound') =>
  `ratelimit_requests_total{policy="${policy}",direction="${way}",result="${result}",` +
  `reason="${reason}",dry_run="false"}`;

/** Two requests of each customer, of which the second is denied. */
async function serveCustomers(app: HttpApp, count: number): Promise<void> {
  const limiter = app.provider(RateLimiter);
  for (let i = 0; i < count; i++) {
    await limiter.allow('ada', `tenant-${i}`);
    await limiter.allow('ada', `tenant-${i}`);
  }
}

describe('metrics of names that are declared', () => {
  it('are there from the start, with zeros', async () => {
    const { scrape } = await start();
    const series = await scrape();
    for (const policy of ['login', 'gold', 'partners', '3/day']) {
      expect([policy, series.get(requests(policy, 'allowed'))]).toEqual([policy, 0]);
      expect([policy, series.get(requests(policy, 'denied', 'rate'))]).toEqual([policy, 0]);
    }
    expect(series.get(requests('closed', 'denied', 'deny_list'))).toBe(0);
    const shadow = requests('tried', 'denied', 'rate').replace('"false"', '"true"');
    expect(series.get(shadow)).toBe(0);
    for (const level of ['server-qps', 'client-qps', 'backend-qps:api']) {
      expect([level, series.get(requests(level, 'denied', 'rate'))]).toEqual([level, 0]);
    }
    for (const rule of ['api.test', 'default']) {
      expect(series.get(requests(rule, 'denied', 'rate', 'outbound'))).toBe(0);
      expect(series.get(requests(rule, 'denied', 'timeout', 'outbound'))).toBe(0);
    }
    const rate = 'ratelimit_limit{policy="api.test",direction="outbound",kind="rate"}';
    expect(series.get(rate)).toBe(0.001);
  });

  it('count when 300 plans came before at run time', async () => {
    const { app, scrape } = await start();
    await serveCustomers(app, 300);
    expect(await app.statuses(6, '/login')).toEqual([200, 200, 429, 429, 429, 429]);
    await app.statuses(2, '/partners');
    const gateway = app.provider(GatewayLimiter);
    const outbound = app.provider(OutboundLimiter);
    for (let i = 0; i < 3; i++) {
      await gateway.enter({ backend: 'api', clientIp: '10.0.0.1' });
      await outbound.allow('api.test');
    }
    const series = await scrape();
    const read = (...of: Parameters<typeof requests>) => series.get(requests(...of));
    expect([read('login', 'allowed'), read('login', 'denied', 'rate')]).toEqual([2, 4]);
    expect([read('partners', 'allowed'), read('partners', 'denied', 'rate')]).toEqual([1, 1]);
    expect(read('3/day', 'allowed')).toBe(1);
    expect(read('backend-qps:api', 'denied', 'rate')).toBe(2);
    expect(read('api.test', 'denied', 'rate', 'outbound')).toBe(2);
    expect([read('tenant-199', 'allowed'), read('tenant-199', 'denied', 'rate')]).toEqual([1, 1]);
    expect(read('tenant-200', 'allowed')).toBeUndefined();
    expect([read('_other', 'allowed'), read('_other', 'denied', 'mixed')]).toEqual([100, 100]);
    expect(snapshotOf(app).totals).toMatchObject({ denied: 300 + 4 + 1 + 2 + 2 });
  });

  it('are there again after a reset, however many came while running', async () => {
    const { app, scrape } = await start();
    await serveCustomers(app, 300);
    await app.statuses(3, '/login');
    app.provider(RateLimitStats).reset();
    expect((await scrape()).get(requests('login', 'denied', 'rate'))).toBe(0);
    await serveCustomers(app, 200);
    await app.statuses(1, '/login');
    const series = await scrape();
    expect(series.get(requests('login', 'denied', 'rate'))).toBe(1);
    expect(series.has(requests('_other', 'allowed'))).toBe(false);
    await serveCustomers(app, 201);
    expect((await scrape()).get(requests('_other', 'denied', 'mixed'))).toBe(2);
  });

  it('do not come with plans that are set while running, which never say zero either', async () => {
    const { app } = await start();
    const plans = app.provider(InMemoryPlanRegistry);
    plans.set('login', '7/day');
    expect(planIn(snapshotOf(app), 'login')).toMatchObject({ quota: 7, denied: 0 });
    for (let i = 0; i < 300; i++) plans.set(`tenant-${i}`, '1/day');
    expect(snapshotOf(app).plans.filter(({ policy }) => policy.startsWith('tenant'))).toEqual([]);
    await serveCustomers(app, 300);
    const shown = snapshotOf(app).plans.filter(({ policy }) => /^(tenant|_other)/.test(policy));
    expect(shown).toHaveLength(201);
    expect(shown.every(({ allowed, denied }) => allowed > 0 && denied > 0)).toBe(true);
    plans.delete('login');
    expect(planIn(snapshotOf(app), 'login')).toMatchObject({ quota: 7 });
  });

  it('do not show calls to others where none are configured', async () => {
    const { app } = await start({ plans: DECLARED.plans!, registry: new Customers() });
    expect(snapshotOf(app).outbound).toEqual([]);
  });
});
