import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { describeWithServers } from '../../support/describe-with-servers.js';
import type { Member } from './members.js';
import { Members, mostAtOnce } from './members.js';

// Processes and servers take their time on a busy machine.
jest.setTimeout(30_000);

const TARGET = { clientIp: '192.0.2.1' };
const SMALL = { maxQps: 20, maxConnections: 3 };
const LARGE = { maxQps: 40, maxConnections: 6 };
const WINDOW_MS = 1_000;
/** How long the first answer may have been under way. */
const ANSWER_MS = 100;

describeWithServers('native server', 'two gateways that disagree about the limits', () => {
  let members: Members;
  let both: readonly Member[];

  beforeEach(async () => {
    members = await Members.meet();
  });

  afterEach(() => members.part());

  async function start(field: 'maxQps' | 'maxConnections'): Promise<void> {
    const joining = [SMALL, LARGE].map((limits) =>
      members.join({ server: { rateLimit: { [field]: limits[field] } } }),
    );
    both = await Promise.all(joining);
  }

  it('never have more open than the larger limit allows', async () => {
    await start('maxConnections');
    const visiting = { target: TARGET, callers: 8, forMs: 1_500, holdMs: 15 };
    const visits = await Promise.all(both.map((member) => member.visit(visiting)));
    expect(mostAtOnce(visits.flat())).toBe(LARGE.maxConnections);
    expect(mostAtOnce(visits[0]!)).toBeLessThanOrEqual(SMALL.maxConnections);
  });

  it('never admit more requests than the larger limit allows', async () => {
    await start('maxQps');
    const visiting = { target: TARGET, callers: 8, forMs: 2_500, holdMs: 0 };
    const visits = (await Promise.all(both.map((member) => member.visit(visiting)))).flat();
    const fromMs = Math.min(...visits.map((visit) => visit.fromMs));
    const toMs = Math.max(...visits.map((visit) => visit.toMs));
    // Windows follow each other from the first request on, and none holds more than its limit.
    const windows = Math.floor((toMs - fromMs + ANSWER_MS) / WINDOW_MS) + 1;
    expect(visits.length).toBeGreaterThan(LARGE.maxQps);
    expect(visits.length).toBeLessThanOrEqual(windows * LARGE.maxQps);
  });
});
