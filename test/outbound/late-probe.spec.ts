import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { OutboundStage } from '../support/outbound-stage.js';
import type { Permit } from '../../lib/outbound/permit.js';

it('probes as soon as the cooldown is over, however many wait', async () => {
  const stage = new OutboundStage({ default: { requestsPerSecond: 1, burstCapacity: 1 } });
  const { ticker, limiter, throttler } = stage;
  const startedMs = ticker.nowMs();
  const gone: number[] = [];
  let first: Permit | undefined;
  for (let i = 0; i < 100; i++) {
    void limiter.wait('a.example').then((permit) => {
      first ??= permit;
      gone.push(ticker.nowMs() - startedMs);
    });
  }
  await turn();
  await throttler.recordBlock('a.example', '429_rate_limited', {
    retryAfterMs: 5_000,
    permit: first!,
  });
  for (let s = 0; s < 120 && gone.length < 2; s++) await ticker.advance(1_000);
  expect(gone).toEqual([0, 5_000]);
});
