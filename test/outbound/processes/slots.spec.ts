import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Callers } from './callers.js';
import { permitsOf } from './outcome.js';

const SITE = 'site.example';
const RULE = { requestsPerSecond: 1_000, burstCapacity: 100, maxConcurrent: 2 };

describe('processes that share few slots', () => {
  let callers: Callers;

  afterEach(() => callers.end());

  it('all get some, however many wait in one of them', async () => {
    callers = await Callers.start(3, { default: RULE });
    const [crowd, one, other] = callers.processes;
    await callers.call({ domain: 'warm.example', calls: 5 });
    const crowded = callers.call({ domain: SITE, calls: 200, holdMs: 20 }, [crowd!]);
    await pause(300);
    const few = await callers.call({ domain: SITE, calls: 5, holdMs: 20 }, [one!, other!]);
    const crowdIsThroughMs = permitsOf((await crowded).outcomes).at(-1)!.atMs;
    const fewAreThroughMs = permitsOf(few.outcomes).at(-1)!.atMs;
    // Two seconds of work in the crowd, a tenth of a second in the others.
    expect(fewAreThroughMs).toBeLessThan(crowdIsThroughMs - 300);
  }, 60_000);
});
