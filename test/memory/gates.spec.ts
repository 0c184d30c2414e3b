import { expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { gateContract } from '../contract/gate.contract.js';
import { FakeClock } from '../support/fake-clock.js';

gateContract('a memory store', () => {
  const clock = new FakeClock(5_000_000);
  return { store: new MemoryStore(clock), advanceUs: (us) => clock.advanceUs(us) };
});

it('remembers a bounded number of gates', () => {
  const store = new MemoryStore(new FakeClock(5_000_000));
  const plan = definePlan('bucket', '1/s');
  const block = (key: string) =>
    store.changeGate({
      ...{ kind: 'block', gate: { key, probeUs: 1 }, bucket: { plan, key, cost: 1 } },
      ...{ threshold: 9, cooldownUs: 1, retryAfterUs: 0, generation: undefined, memoryUs: 1e9 },
    });
  for (let i = 0; i <= 10_000; i++) block(`gate-${i}`);
  expect(store.lookAtGate({ key: 'gate-0', probeUs: 1 }).blocks).toBe(0);
  expect(store.lookAtGate({ key: 'gate-1', probeUs: 1 }).blocks).toBe(1);
});
