import 'reflect-metadata';
import { Controller, Get } from '@nestjs/common';
import type { HealthIndicatorService } from '@nestjs/terminus';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { FailurePolicy } from '../../lib/index.js';
import { RateLimitStats } from '../../lib/index.js';
import { RateLimitHealthIndicator } from '../../lib/observe/terminus/index.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { closeApps } from '../support/http-app.js';
import type { Farm } from '../support/redis-servers.js';
import { createFarm, freePort, until } from '../support/redis-servers.js';
import { planIn, snapshotOf, startObserved } from './observed-app.js';

jest.setTimeout(40_000);

@Controller()
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly rateLimit: RateLimitHealthIndicator,
  ) {}

  @Get('health')
  @HealthCheck()
  check() {
    return this.health.check([() => this.rateLimit.isHealthy('rateLimit')]);
  }
}

const HEALTH = {
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [RateLimitHealthIndicator],
};

describeWithServers('native server', 'a Redis that goes away and comes back', () => {
  let farm: Farm;

  beforeEach(() => {
    farm = createFarm();
  });

  afterEach(async () => {
    await closeApps();
    await farm.stop();
  });

  const answers: [FailurePolicy, number, string][] = [
    ['open', 200, 'degraded'],
    ['local', 200, 'degraded'],
    ['closed', 503, 'down'],
  ];

  it.each(answers)(
    'shows in the health and in the stats: %s',
    async (onStoreFailure, status, told) => {
      const port = await freePort();
      const server = await farm.start(port);
      const redis = `redis://127.0.0.1:${port}`;
      const app = await startObserved({ redis, onStoreFailure }, HEALTH);
      await app.get('/pair');
      expect((await app.get('/health')).json).toMatchObject({
        status: 'ok',
        details: { rateLimit: { status: 'up', store: 'redis' } },
      });
      const gone = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGKILL');
      await gone;
      const asked = async () => (await app.get('/pair')).status;
      await until('the breaker to open', async () => {
        await asked();
        return snapshotOf(app).store.status === 'failing';
      });
      app.provider(RateLimitStats).reset();
      expect(await asked()).toBe(onStoreFailure === 'closed' ? 503 : 200);
      const health = await app.get('/health');
      expect(health.status).toBe(status);
      expect(health.json).toMatchObject({
        details: { rateLimit: { status: told, onStoreFailure } },
      });
      const failing = snapshotOf(app);
      expect(failing.store.servers).toMatchObject([{ server: '', breaker: 'open', outages: 1 }]);
      expect(failing.totals).toMatchObject(COUNTED[onStoreFailure]);
      expect(planIn(failing, 'gold')).toMatchObject(COUNTED[onStoreFailure]);
      await farm.start(port);
      await until('Redis to be back', () => snapshotOf(app).store.status === 'up');
      expect(snapshotOf(app).store.servers).toMatchObject([{ breaker: 'closed', outages: 1 }]);
      expect((await app.get('/health')).json).toMatchObject({ status: 'ok' });
    },
  );

  const COUNTED = {
    open: { allowed: 1, denied: 0, failedOpen: 1, failedClosed: 0, failedLocal: 0 },
    closed: { allowed: 0, denied: 1, failedOpen: 0, failedClosed: 1, failedLocal: 0 },
    local: { allowed: 1, denied: 0, failedOpen: 0, failedClosed: 0, failedLocal: 1 },
  } as const;

  it('is up with a detail where terminus knows no degraded', async () => {
    const port = await freePort();
    const app = await startObserved({ redis: `redis://127.0.0.1:${port}`, deadlineMs: 5 });
    await app.get('/pair');
    await until('the breaker to open', async () => {
      await app.get('/pair');
      return snapshotOf(app).store.status === 'failing';
    });
    // What terminus 11 has.
    const indicators = {
      check: (key: string) => ({ up: (data: object) => ({ [key]: { status: 'up', ...data } }) }),
    } as unknown as HealthIndicatorService;
    const indicator = new RateLimitHealthIndicator(app.provider(RateLimitStats), indicators);
    expect(indicator.isHealthy('limits')).toMatchObject({
      limits: { status: 'up', degraded: true, onStoreFailure: 'open' },
    });
  });
});
