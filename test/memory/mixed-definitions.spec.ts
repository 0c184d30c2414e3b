import { MemoryStore } from '../../lib/memory/memory-store.js';
import { mixedDefinitionsContract } from '../contract/mixed-definitions.contract.js';
import { FakeClock } from '../support/fake-clock.js';

/** Raise it to search longer: FAST_CHECK_RUNS=10000 npm test -- test/memory/mixed-definitions */
const RUNS = Number(process.env['FAST_CHECK_RUNS'] ?? 500);

mixedDefinitionsContract(
  'a memory store',
  () => {
    const clock = new FakeClock();
    const store = new MemoryStore(clock);
    // It forgets by itself, by the same clock.
    return { clock, stores: [store, store], expire: () => undefined };
  },
  { runs: RUNS, millisecondsEach: 20 * RUNS },
);
