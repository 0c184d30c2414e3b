import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Attributes } from '@opentelemetry/api';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { OutboundLimiter, RateLimiter, RateLimitStats } from '../../lib/index.js';
import { METRICS } from '../../lib/observe/metrics.js';
import { RateLimitOpenTelemetryModule } from '../../lib/observe/opentelemetry/index.js';
import { closeApps } from '../support/http-app.js';
import { sharedRedis } from '../support/redis-servers.js';
import { startObserved } from './observed-app.js';

jest.setTimeout(40_000);

function newProvider() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // Read when the test asks, not by its timer.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e9 });
  const provider = new MeterProvider({ readers: [reader] });
  const read = async (): Promise<MetricData[]> => {
    exporter.reset();
    await provider.forceFlush();
    return exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics[0]?.metrics ?? []);
  };
  return { meter: provider.getMeter('test'), read, stop: () => provider.shutdown() };
}

const valueOf = (metrics: readonly MetricData[], name: string, attributes: Attributes): unknown =>
  metrics
    .find(({ descriptor }) => descriptor.name === name)
    ?.dataPoints.find((point) => JSON.stringify(point.attributes) === JSON.stringify(attributes))
    ?.value;

afterEach(closeApps);

describe('metrics for OpenTelemetry', () => {
  it('tell what happened, under the names of the conventions', async () => {
    const { meter, read, stop } = newProvider();
    const app = await startObserved(
      {
        redis: sharedRedis.url,
        keyPrefix: `otel-${randomUUID()}`,
        deadlineMs: 2_000,
        outbound: { domains: { 'api.test': { requestsPerSecond: 20, burstCapacity: 1 } } },
      },
      { imports: [RateLimitOpenTelemetryModule.forRoot({ meter })] },
    );
    await app.statuses(7, '/pair');
    await app.statuses(2, '/tried');
    await app.provider(OutboundLimiter).wait('api.test');
    await app.provider(OutboundLimiter).wait('api.test');
    const lease = await app.provider(RateLimiter).acquire('ada', 'slots');
    await lease.release();
    const metrics = await read();
    const inbound = { direction: 'inbound' };
    const requests = (attributes: Attributes) => valueOf(metrics, 'ratelimit.requests', attributes);
    expect(requests({ policy: 'gold', ...inbound, result: 'allowed', dry_run: false })).toBe(5);
    const denied = { result: 'denied', reason: 'rate' };
    expect(requests({ policy: 'gold', ...inbound, ...denied, dry_run: false })).toBe(2);
    expect(requests({ policy: 'tried', ...inbound, ...denied, dry_run: true })).toBe(1);
    expect(valueOf(metrics, 'ratelimit.near_limit', { policy: 'gold', ...inbound })).toBe(2);
    expect(valueOf(metrics, 'ratelimit.lease.active', { policy: 'slots', ...inbound })).toBe(0);
    expect(
      valueOf(metrics, 'ratelimit.lease.duration', { policy: 'slots', ...inbound }),
    ).toMatchObject({
      count: 1,
    });
    const waits = { policy: 'api.test', direction: 'outbound', result: 'acquired' };
    expect(valueOf(metrics, 'ratelimit.wait.duration', waits)).toMatchObject({ count: 2 });
    expect(valueOf(metrics, 'ratelimit.store.available', { store: 'redis' })).toBe(1);
    const decided = { store: 'redis', operation: 'decide' };
    expect(valueOf(metrics, 'ratelimit.store.operation.duration', decided)).toBeDefined();
    const unit = (name: string) =>
      metrics.find(({ descriptor }) => descriptor.name === name)?.descriptor.unit;
    expect(unit('ratelimit.wait.duration')).toBe('s');
    expect(unit('ratelimit.requests')).toBe('{request}');
    await stop();
  });

  it('end with the application', async () => {
    const { meter, read, stop } = newProvider();
    const app = await startObserved(
      {},
      { imports: [RateLimitOpenTelemetryModule.forRoot({ meter, prefix: 'shop' })] },
    );
    await app.statuses(1, '/pair');
    const names = (await read()).map(({ descriptor }) => descriptor.name);
    expect(names).toContain('shop.requests');
    const look = jest.spyOn(app.provider(RateLimitStats), 'snapshot');
    await read();
    expect(look).toHaveBeenCalledTimes(1);
    await app.app.close();
    await read();
    expect(look).toHaveBeenCalledTimes(1);
    await stop();
  });

  it('have the names of those for Prometheus, written the other way', () => {
    for (const { name, prometheus, kind, unit } of METRICS) {
      const suffix = kind === 'counter' ? '_total' : unit === 's' ? '_seconds' : '';
      const written = name.replaceAll('.', '_');
      const stamp = name === 'config.last_success' ? '_timestamp' : '';
      expect(prometheus).toBe(`${written}${stamp}${suffix}`);
    }
  });
});
