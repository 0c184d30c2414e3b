import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { faultReport } from './fault-report.js';
import { expectAllKeysToExpire, expectHarmless, playUnderLoad, Stage } from './stage.js';

const report = faultReport('Redis');

describe('Redis', () => {
  let stage: Stage;
  let folder: string;

  beforeEach(() => {
    stage = new Stage();
    folder = mkdtempSync(join(tmpdir(), 'floodgate-crash-'));
  });

  afterEach(async () => {
    await stage.end();
    rmSync(folder, { recursive: true, force: true });
  });

  it('may be killed under load: nobody waits, and what was counted before still counts', async () => {
    const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--dir', folder];
    const server = await stage.server(durable);
    const { limiter, lines } = await stage.app(server.url);
    const outcome = await playUnderLoad(limiter, {
      name: 'killed (SIGKILL), started again after 0.3 s',
      strike: () => server.signal('SIGKILL'),
      heal: () => server.restart(),
    });
    expectHarmless(outcome);
    expect(outcome.load.count('FAIL_OPEN')).toBeGreaterThan(100);
    expect(lines).toHaveLength(2);
    await expectAllKeysToExpire(stage.admin(server));
    report(outcome.row);
  });

  it('may hang: those in flight wait for the deadline, the others not at all', async () => {
    const server = await stage.server();
    const { limiter, lines } = await stage.app(server.url);
    const outcome = await playUnderLoad(limiter, {
      name: 'hangs for 0.3 s (SIGSTOP)',
      strike: () => server.signal('SIGSTOP'),
      heal: () => server.signal('SIGCONT'),
    });
    expectHarmless(outcome);
    expect(outcome.load.count('FAIL_OPEN')).toBeGreaterThan(100);
    expect(lines).toHaveLength(2);
    await expectAllKeysToExpire(stage.admin(server));
    report(outcome.row);
  });
});
