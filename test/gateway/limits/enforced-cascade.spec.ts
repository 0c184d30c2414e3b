import { describe, expect, it } from '@jest/globals';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import type { GatewayAnswer } from '../../../lib/gateway/connections/gateway-answer.js';
import { GatewayLimiter } from '../../../lib/gateway/gateway-limiter.js';
import { MemoryStore } from '../../../lib/memory/memory-store.js';
import { FakeClock } from '../../support/fake-clock.js';

/** No limit, refuse all, and two limits that can be told apart. */
const VALUES = [-1, 0, 2, 3] as const;
/** More than any limit. */
const ATTEMPTS = 5;

/** What a route, its backend and the server say about one thing. */
type Said = readonly [route: number, backend: number, server: number];
const COMBINATIONS = VALUES.flatMap((route) =>
  VALUES.flatMap((backend) => VALUES.map((server): Said => [route, backend, server])),
);

function gatewayWith(qps: Said, connections: Said): GatewayLimiter {
  const [route, backend, server] = qps.map((maxQpsPerClient, i) => {
    return { maxQpsPerClient, maxConnectionsPerClient: connections[i]! };
  });
  const config = checkGatewayConfig({
    server: { rateLimit: server! },
    backends: [{ name: 'api', rateLimit: backend! }],
    routes: [{ id: 'route', host: '*', backend: 'api', rateLimit: route! }],
  });
  let leases = 0;
  const store = new MemoryStore(new FakeClock());
  return new GatewayLimiter(config, { store, newLeaseId: () => `lease-${leases++}` });
}

/** Of so many attempts, how many are admitted. */
async function admitted(attempt: () => Promise<GatewayAnswer>): Promise<number> {
  let count = 0;
  for (let i = 0; i < ATTEMPTS; i++) if ((await attempt()).allowed) count++;
  return count;
}

/** The first that is not −1, and who said it. */
function closest(said: Said): { value: number; source: string } {
  const at = said.findIndex((value) => value !== -1);
  return at === -1
    ? { value: -1, source: 'none' }
    : { value: said[at]!, source: ['route', 'backend', 'server'][at]! };
}

const mostOf = (value: number) => (value === -1 ? ATTEMPTS : value);

describe('what a gateway lets each client do', () => {
  it('is what the closest level says, in all 4096 combinations', async () => {
    const client = { routeId: 'route', clientIp: '192.0.2.1' };
    const wrong: unknown[] = [];
    let looked = 0;
    for (const qps of COMBINATIONS) {
      for (const connections of COMBINATIONS) {
        const gateway = gatewayWith(qps, connections);
        const found = {
          told: gateway
            .explain('route')
            .values.slice(-2)
            .map(({ value, source }) => ({ value, source })),
          requests: await admitted(() => gateway.tryAcquire(client)),
          open: await admitted(() => gateway.tryAcquireConnection(client)),
        };
        const told = [closest(qps), closest(connections)];
        const right = { told, requests: mostOf(told[0]!.value), open: mostOf(told[1]!.value) };
        if (JSON.stringify(found) !== JSON.stringify(right))
          wrong.push({ qps, connections, found });
        looked++;
      }
    }
    expect({ looked, wrong }).toEqual({ looked: 4_096, wrong: [] });
  }, 30_000);
});
