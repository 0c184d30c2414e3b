import 'reflect-metadata';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { register, Registry } from 'prom-client';
import { OutboundLimiter, RateLimiter, RateLimitStats } from '../../lib/index.js';
import {
  collectRateLimitMetrics,
  RateLimitPrometheusModule,
} from '../../lib/observe/prometheus/index.js';
import type { HttpApp } from '../support/http-app.js';
import { closeApps } from '../support/http-app.js';
import { startObserved } from './observed-app.js';

const run = promisify(execFile);
/** A name that the type checker does not follow: it has no types. */
const COMPILED_LIB: string = '../support/compiled-lib.mjs';

jest.setTimeout(40_000);

afterEach(closeApps);

/** Samples by what stands before the number, as Prometheus reads them. */
function samplesIn(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

async function scrape(registry: Registry): Promise<Record<string, number>> {
  return samplesIn(await registry.metrics());
}

const request = (policy: string, result: string, reason = '', dryRun = false, way = 'inbound') =>
  `ratelimit_requests_total{policy="${policy}",direction="${way}",result="${result}",` +
  `reason="${reason}",dry_run="${dryRun}"}`;

async function makeTraffic(app: HttpApp): Promise<void> {
  await app.statuses(7, '/pair');
  await app.statuses(2, '/closed');
  await app.statuses(2, '/tried');
  const outbound = app.provider(OutboundLimiter);
  await outbound.wait('a.example.com');
  await outbound.wait('a.example.com');
  await app.provider(RateLimiter).acquire('ada', 'slots');
}

const OUTBOUND = { domains: { '*.example.com': { requestsPerSecond: 20, burstCapacity: 1 } } };

describe('metrics for Prometheus', () => {
  it('tell what happened, under the names of the conventions', async () => {
    const registry = new Registry();
    const app = await startObserved(
      { outbound: OUTBOUND },
      { imports: [RateLimitPrometheusModule.forRoot({ registry })] },
    );
    await makeTraffic(app);
    const samples = await scrape(registry);
    expect(samples).toMatchObject({
      [request('gold', 'allowed')]: 5,
      [request('gold', 'denied', 'rate')]: 2,
      [request('daily', 'allowed')]: 7,
      [request('closed', 'denied', 'deny_list')]: 2,
      [request('tried', 'denied', 'rate', true)]: 1,
      [request('*.example.com', 'allowed', '', false, 'outbound')]: 1,
      [request('*.example.com', 'delayed', '', false, 'outbound')]: 1,
      'ratelimit_near_limit_total{policy="gold",direction="inbound"}': 2,
      'ratelimit_lease_active{policy="slots",direction="inbound"}': 1,
      'ratelimit_limit{policy="slots",direction="inbound",kind="concurrency"}': 4,
      'ratelimit_limit{policy="daily",direction="inbound",kind="burst"}': 100,
      'ratelimit_limit{policy="*.example.com",direction="outbound",kind="rate"}': 20,
      'ratelimit_queue_size{policy="*.example.com",direction="outbound"}': 0,
      'ratelimit_queue_oldest_age_seconds{policy="*.example.com"}': 0,
      'ratelimit_cooldown_state{policy="*.example.com",state="normal"}': 1,
      'ratelimit_cooldown_state{policy="*.example.com",state="cooling"}': 0,
      'ratelimit_store_available{store="memory"}': 1,
      'ratelimit_config_reloads_total{result="success"}': 0,
    });
    const waits = '{policy="*.example.com",direction="outbound",result="acquired"';
    expect(samples[`ratelimit_wait_duration_seconds_count${waits}}`]).toBe(2);
    expect(samples[`ratelimit_wait_duration_seconds_bucket${waits},le="0.005"}`]).toBe(1);
    expect(samples[`ratelimit_wait_duration_seconds_bucket${waits},le="+Inf"}`]).toBe(2);
    expect(samples[`ratelimit_wait_duration_seconds_sum${waits}}`]).toBeGreaterThan(0.02);
    expect(Object.keys(samples).join()).not.toContain('127.0.0');
  });

  it('are on the global registry unless told otherwise, and go with the application', async () => {
    const app = await startObserved({}, { imports: [RateLimitPrometheusModule.forRoot()] });
    await app.statuses(1, '/pair');
    expect((await scrape(register))[request('gold', 'allowed')]).toBe(1);
    await app.app.close();
    expect(await scrape(register)).toEqual({});
  });

  it('appear at /metrics of @willsoto/nestjs-prometheus as it is', async () => {
    // That package is CommonJS and requires Nest, which the test runner cannot do.
    const { compileLib } = (await import(COMPILED_LIB)) as { compileLib: () => string };
    const script = join(import.meta.dirname, 'metrics-app.mjs');
    const { stdout } = await run(process.execPath, [script, compileLib()]);
    const samples = samplesIn(stdout);
    expect(samples[request('gold', 'allowed')]).toBe(2);
    expect(samples[request('gold', 'denied', 'rate')]).toBe(1);
  });

  it('can be collected by hand, under another prefix, also as JSON', async () => {
    const registry = new Registry();
    const app = await startObserved();
    const remove = collectRateLimitMetrics(app.provider(RateLimitStats), {
      registry,
      prefix: 'shop_limits',
    });
    await app.statuses(1, '/pair');
    const metrics = await registry.getMetricsAsJSON();
    expect(metrics.every(({ name }) => name.startsWith('shop_limits_'))).toBe(true);
    const requests = metrics.find(({ name }) => name === 'shop_limits_requests_total')!;
    const values = (requests as unknown as { values: { labels: object; value: number }[] }).values;
    expect(values).toContainEqual({
      labels: {
        ...{ policy: 'gold', direction: 'inbound', result: 'allowed' },
        ...{ reason: '', dry_run: 'false' },
      },
      value: 1,
    });
    remove();
    expect(await registry.getMetricsAsJSON()).toEqual([]);
  });

  it('tell of the same moment in one scrape', async () => {
    const registry = new Registry();
    const app = await startObserved(
      {},
      { imports: [RateLimitPrometheusModule.forRoot({ registry })] },
    );
    const look = jest.spyOn(app.provider(RateLimitStats), 'snapshot');
    await registry.metrics();
    expect(look).toHaveBeenCalledTimes(1);
    await new Promise((resolve) => setImmediate(resolve));
    await registry.metrics();
    expect(look).toHaveBeenCalledTimes(2);
  });
});
