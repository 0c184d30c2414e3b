import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Callers } from './callers.js';
import { overshootOf, permitsOf } from './outcome.js';

const RULE = { requestsPerSecond: 50, burstCapacity: 5 };

describe('a process that is halted while its turns pass', () => {
  let callers: Callers;

  afterEach(() => callers.end());

  it('does not make up for them all at once', async () => {
    callers = await Callers.start(1, { default: RULE });
    const [halted] = callers.processes;
    await callers.call({ domain: 'warm.example', calls: 5 });
    const calling = callers.call({ domain: 'site.example', calls: 150 });
    await pause(500);
    halted!.kill('SIGSTOP');
    await pause(1_500);
    halted!.kill('SIGCONT');
    const permits = permitsOf((await calling).outcomes);
    expect(permits).toHaveLength(150);
    expect(overshootOf(permits, RULE)).toBeLessThanOrEqual(RULE.burstCapacity);
  }, 60_000);
});
