import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { GatewayConfig } from '../../../lib/index.js';
import { describeWithServers } from '../../support/describe-with-servers.js';
import { until } from '../../support/redis-servers.js';
import type { Member } from './members.js';
import { crowdOf, Members, mostAtOnce, nowMs } from './members.js';

// Processes and servers take their time on a busy machine.
jest.setTimeout(30_000);

const LEASE_MS = 1_500;
const MAX = 5;
const OF_VICTIM = 3;
const GATEWAY: GatewayConfig = {
  connectionLeaseMs: LEASE_MS,
  server: { rateLimit: { maxConnections: MAX } },
};
const TARGET = { clientIp: '192.0.2.1' };

describeWithServers('native server', 'two gateways of which one is killed', () => {
  let members: Members;
  let victim: Member;
  let survivor: Member;

  beforeEach(async () => {
    members = await Members.meet();
    [victim, survivor] = await Promise.all([members.join(GATEWAY), members.join(GATEWAY)]);
  });

  afterEach(() => members.part());

  it('have its connections back when their leases end, and never too many before', async () => {
    for (let i = 0; i < OF_VICTIM; i++) await victim.open(TARGET);
    const visiting = survivor.visit({ target: TARGET, callers: 8, forMs: 5_000, holdMs: 20 });
    // Longer than a lease: whoever lives keeps what it has open.
    await pause(LEASE_MS * 1.2);
    const killedMs = nowMs();
    await victim.kill();
    const visits = await visiting;

    expect(visits.every(({ reason }) => reason === 'ALLOWED')).toBe(true);
    expect(mostAtOnce(visits)).toBe(MAX);
    const crowd = crowdOf(visits);
    const more = crowd.find(({ count }) => count > MAX - OF_VICTIM)!;
    expect(
      Math.max(...crowd.filter(({ atMs }) => atMs < more.atMs).map(({ count }) => count)),
    ).toBe(MAX - OF_VICTIM);
    // The last renewal was a third of a lease ago, or somewhat more on a busy machine.
    expect(more.atMs - killedMs).toBeGreaterThan(LEASE_MS * 0.4);
    expect(more.atMs - killedMs).toBeLessThan(LEASE_MS + 1_000);
    await until('all to be given back', async () => (await survivor.connections()) === 0);
  });
});
