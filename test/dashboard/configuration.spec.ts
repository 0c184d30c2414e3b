import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { ConfiguredValue, DashboardData } from '../../lib/dashboard/index.js';
import { RateLimitDashboardModule } from '../../lib/dashboard/index.js';
import type { RateLimitOptions } from '../../lib/index.js';
import {
  GatewayLimiter,
  InMemoryPlanRegistry,
  PlanRegistry,
  RateLimit,
  RateLimitModule,
} from '../../lib/index.js';
import type { HttpApp } from '../support/http-app.js';
import { closeApps, startApp } from '../support/http-app.js';

@Controller('hello')
class HelloController {
  @Get()
  @RateLimit('5/hour')
  hello() {
    return 'Hello!';
  }
}

async function start(options: RateLimitOptions): Promise<HttpApp> {
  return startApp('express', {
    imports: [RateLimitModule.forRoot(options), RateLimitDashboardModule.forRoot()],
    controllers: [HelloController],
  });
}

async function configurationOf(app: HttpApp): Promise<readonly ConfiguredValue[]> {
  return ((await app.get('/rate-limits/data.json')).json as DashboardData).configuration;
}

/** Value and source, as `7 (option)`. */
async function told(app: HttpApp, part: string, name: string): Promise<string | undefined> {
  const found = (await configurationOf(app)).find((one) => one.part === part && one.name === name);
  return found && `${found.value} (${found.source})`;
}

const folders: string[] = [];
function fileWith(content: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'floodgate-dashboard-'));
  folders.push(folder);
  const file = join(folder, 'limits.json');
  writeFileSync(file, JSON.stringify(content));
  return file;
}

afterEach(async () => {
  await closeApps();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  delete process.env['APP_RATE_LIMIT'];
});

describe('the configuration on the dashboard', () => {
  it('tells what was set from what was not', async () => {
    const app = await start({ maxLimits: 7_000, headers: false });
    expect(await told(app, 'options', 'maxLimits')).toBe('7000 (option)');
    expect(await told(app, 'options', 'headers')).toBe('false (option)');
    expect(await told(app, 'options', 'onMissingKey')).toBe('ip (default)');
  });

  it('tells no secrets', async () => {
    const app = await start({
      keySecret: 'do-not-tell',
      redis: 'redis://user:do-not-tell@127.0.0.1:1',
      deadlineMs: 5,
    });
    expect(await told(app, 'options', 'keySecret')).toBe('set, not shown (option)');
    expect(await told(app, 'options', 'redis')).toBe('set, not shown (option)');
    expect((await app.get('/rate-limits/data.json')).text).not.toContain('do-not-tell');
  });

  it('tells where plans came from', async () => {
    const app = await start({ plans: { gold: '10/s', silver: { limit: 3, windowMs: 1_000 } } });
    await app.get('/hello');
    expect(await told(app, 'plans', 'gold')).toBe('10/s (option)');
    expect(await told(app, 'plans', 'silver')).toBe('limit 3, windowMs 1000 (option)');
    expect(await told(app, 'plans', 'default')).toBe('capacity 5, tokensPerSecond 3 (default)');
    expect(await told(app, 'plans', '5/hour')).toBe('5 in 3600000 ms (code)');

    app.provider(InMemoryPlanRegistry).set('gold', '20/s');
    app.provider(InMemoryPlanRegistry).set('bronze', '1/s');
    expect(await told(app, 'plans', 'gold')).toBe('20/s (update)');
    expect(await told(app, 'plans', 'bronze')).toBe('1/s (update)');
    expect(await told(app, 'plans', 'silver')).toBe('limit 3, windowMs 1000 (option)');
  });

  it('tells the environment and a registry', async () => {
    process.env['APP_RATE_LIMIT'] = '9';
    const app = await start({});
    expect(await told(app, 'plans', 'default')).toBe('capacity 5, tokensPerSecond 9 (env)');

    class Customers extends PlanRegistry {
      override find = (name: string) => (name === 'acme' ? ('4/s' as const) : undefined);
      override names = () => ['acme'];
    }
    @Controller('acme')
    class AcmeController {
      @Get()
      @RateLimit('acme')
      hello() {
        return 'Hello!';
      }
    }
    const other = await startApp('express', {
      imports: [
        RateLimitModule.forRoot({ registry: new Customers() }),
        RateLimitDashboardModule.forRoot(),
      ],
      controllers: [AcmeController],
    });
    await other.get('/acme');
    expect(await told(other, 'plans', 'acme')).toBe('4 in 1000 ms (registry)');
  });

  it('tells which outbound rules a file has', async () => {
    const file = fileWith({
      version: '1.0',
      domains: { 'a.test': { requests_per_second: 2, burst_capacity: 2 } },
    });
    const rule = { requestsPerSecond: 9, burstCapacity: 9 };
    const app = await start({
      outbound: { file, watch: false, domains: { 'A.test': rule, 'b.test': rule } },
    });
    expect(await told(app, 'outbound', 'rule a.test')).toBe(
      'requestsPerSecond 2, burstCapacity 2 (file)',
    );
    expect(await told(app, 'outbound', 'rule b.test')).toBe(
      'requestsPerSecond 9, burstCapacity 9 (option)',
    );
    expect(await told(app, 'outbound', 'rule default')).toBe(
      'requestsPerSecond 1, burstCapacity 1 (default)',
    );
    expect(await told(app, 'outbound', 'timeoutMs')).toBe('no bound (default)');
    expect(await told(app, 'outbound', 'watch')).toBe('false (option)');
  });

  it('tells the levels of a gateway, what routes inherit, and what was changed running', async () => {
    const file = fileWith({
      server: { rateLimit: { maxQps: 100 } },
      backends: [{ name: 'api', rateLimit: { maxQpsPerClient: 5 } }],
      routes: [{ id: 'all', host: '*', backend: 'api' }],
    });
    const app = await start({ gateway: { file, watch: false } });
    expect(await told(app, 'gateway', 'server maxQps')).toBe('100 (file)');
    expect(await told(app, 'gateway', 'backend api maxQpsPerClient')).toBe('5 (file)');
    expect(await told(app, 'gateway', 'route all maxQpsPerClient')).toBe(
      '5, from the backend (file)',
    );
    expect(await told(app, 'gateway', 'route all maxQps')).toBeUndefined();

    await app.provider(GatewayLimiter).updateBackend('api', { maxQpsPerClient: 6 });
    expect(await told(app, 'gateway', 'backend api maxQpsPerClient')).toBe('6 (update)');
    expect(await told(app, 'gateway', 'route all maxQpsPerClient')).toBe(
      '6, from the backend (update)',
    );
    expect(await told(app, 'gateway', 'server maxQps')).toBe('100 (file)');
  });

  it('is bounded, however much there is', async () => {
    const plans = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`p${i}`, '1/s']));
    const app = await start({ plans: plans as Record<string, '1/s'> });
    const named = (await configurationOf(app)).filter(({ part }) => part === 'plans');
    expect(named).toHaveLength(102);
    expect(named.at(-2)).toMatchObject({ name: '…', value: 'and 51 more' });
    expect(named.at(-1)).toMatchObject({ name: '5/hour', source: 'code' });
  });
});
