import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { describeWithServers } from '../support/describe-with-servers.js';
import { faultReport } from './fault-report.js';
import { expectAllDecided, playUnderLoad, Stage } from './stage.js';

const report = faultReport('application');

describeWithServers('native server', 'an application that', () => {
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage();
  });

  afterEach(async () => {
    await stage.end();
  });

  it('is too busy to read the answers does not take a healthy Redis for dead', async () => {
    const server = await stage.server();
    const { limiter, lines } = await stage.app(server.url, { deadlineMs: 300 });
    const outcome = await playUnderLoad(limiter, {
      name: 'computes for 0.5 s (deadline 0.3 s) and does not read the answers',
      strike: async () => {
        for (let i = 0; i < 10; i++) void limiter.allow(`busy-${i}`, 'roomy');
        // The questions are under way, and nobody has looked for answers yet.
        await nextTurn();
        block();
      },
    });
    expectAllDecided(outcome);
    expect(outcome.load.lagMs).toBeGreaterThan(400);
    expect(lines).toEqual([]);
    report(outcome.row);
  });

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'stops while Redis is away (%s) does not wait for it',
    async (signal) => {
      const server = await stage.server();
      const app = await stage.app(server.url);
      await app.limiter.allow('ada', 'roomy');
      await server.signal(signal);
      await app.limiter.allow('ada', 'roomy');
      const beforeMs = performance.now();
      await app.close();
      expect(performance.now() - beforeMs).toBeLessThan(1_000);
    },
  );
});

function block(): void {
  const untilMs = performance.now() + 500;
  while (performance.now() < untilMs);
}
