import { afterEach, describe, expect, it } from '@jest/globals';
import type { DashboardData } from '../../lib/dashboard/index.js';
import { DashboardAppModule } from '../../sample/01-quick-start/dashboard.module.js';
import { ShopModule } from '../../sample/01-quick-start/shop.module.js';
import { Traffic } from '../../sample/01-quick-start/traffic.js';
import type { HttpApp } from '../support/http-app.js';
import { closeApps, startApp } from '../support/http-app.js';
import { until } from '../support/redis-servers.js';

async function statsOf(app: HttpApp): Promise<DashboardData['stats']> {
  return ((await app.get('/rate-limits/data.json')).json as DashboardData).stats;
}

afterEach(closeApps);

describe('the quick start', () => {
  it('has its dashboard beside it', async () => {
    const app = await startApp('express', { imports: [DashboardAppModule] });
    expect(await app.statuses(6, '/')).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await app.get('/rate-limits')).status).toBe(200);
    expect((await statsOf(app)).totals).toMatchObject({ allowed: 5, denied: 1 });
  });

  it('makes traffic that moves every part of the picture', async () => {
    const app = await startApp('express', { imports: [ShopModule] });
    app.provider(Traffic).start(await app.app.getUrl());
    await until('traffic everywhere', async () => {
      const { plans, outbound, gateway, totals, topKeys } = await statsOf(app);
      const used = plans.filter(({ allowed, shadowDenied }) => allowed + shadowDenied > 0);
      const named = ['search', 'everything', 'checkout', 'exports', 'tighter-checkout'];
      return (
        named.every((name) => used.some(({ policy }) => policy === name)) &&
        new Set(topKeys.requests.map(({ key }) => key)).size === 5 &&
        outbound.some(({ allowed }) => allowed > 0) &&
        gateway.some((one) => one.policy === 'backend-connections:shop' && one.allowed > 0) &&
        totals.allowed > 20
      );
    });
  }, 60_000);
});
