import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { REPLAN_GRACE_US } from '../../../lib/core/gate.js';
import type { DomainRule } from '../../../lib/index.js';
import { Callers, nowMs } from './callers.js';
import { overshootOf, permitsOf } from './outcome.js';

const SITE = 'site.example';
const SLOW = { requestsPerSecond: 5, burstCapacity: 1 };
const FAST = { requestsPerSecond: 100, burstCapacity: 1 };
const GRACE_MS = REPLAN_GRACE_US / 1_000;

describe('two processes whose file of rules changes while calls wait', () => {
  let folder: string;
  let file: string;
  let callers: Callers;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'floodgate-rules-'));
    file = join(folder, 'rules.json');
  });

  afterEach(async () => {
    await callers.end();
    rmSync(folder, { recursive: true, force: true });
  });

  /** In one step, as a deployment would. */
  function write({ requestsPerSecond, burstCapacity }: DomainRule): void {
    const rule = { requests_per_second: requestsPerSecond, burst_capacity: burstCapacity };
    const text = JSON.stringify({ version: '1.0', domains: { [SITE]: rule } });
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  }

  async function start(rule: DomainRule): Promise<void> {
    write(rule);
    callers = await Callers.start(2, { file });
    await callers.call({ domain: 'warm.example', calls: 1 });
  }

  it('let those who wait go faster', async () => {
    await start(SLOW);
    const calling = callers.call({ domain: SITE, calls: 50 });
    await pause(700);
    write(FAST);
    const changedMs = nowMs();
    await callers.haveReadRules(1);
    const noticedMs = nowMs();
    const { outcomes, lateMs } = await calling;
    const permits = permitsOf(outcomes);
    expect(permits).toHaveLength(100);
    const before = permits.filter(({ atMs }) => atMs <= changedMs);
    expect(before.length).toBeLessThanOrEqual(5);
    // At the old rate it would take twenty seconds.
    expect(permits.at(-1)!.atMs - noticedMs).toBeLessThan(1_500 + 2 * lateMs);
    const lateTokens = (FAST.requestsPerSecond * lateMs) / 1_000;
    expect(overshootOf(permits, FAST)).toBeLessThanOrEqual(lateTokens);
  }, 60_000);

  it('make those who wait go slower', async () => {
    await start(FAST);
    const calling = callers.call({ domain: SITE, calls: 150 });
    await pause(300);
    write(SLOW);
    await callers.haveReadRules(1);
    const noticedMs = nowMs();
    await pause(2_000);
    const untilMs = nowMs();
    write(FAST);
    const { outcomes, lateMs } = await calling;
    const permits = permitsOf(outcomes);
    expect(permits).toHaveLength(300);
    const slow = permits.filter(({ atMs }) => atMs > noticedMs + lateMs && atMs < untilMs);
    expect(slow.length).toBeGreaterThan(5);
    // Turns that were due too soon to be taken back are still used, at the new pace.
    const leftTokens = (FAST.requestsPerSecond * (GRACE_MS + 2 * lateMs)) / 1_000;
    const lateTokens = (SLOW.requestsPerSecond * lateMs) / 1_000;
    expect(overshootOf(slow, SLOW)).toBeLessThanOrEqual(1 + leftTokens + lateTokens);
  }, 60_000);
});
