import { MemoryStore } from '../../lib/memory/memory-store.js';
import { limitStoreProperties } from '../contract/limit-store.properties.js';
import { FakeClock } from '../support/fake-clock.js';

/** Raise it to search longer: FAST_CHECK_RUNS=10000 npm test -- test/memory/properties */
const RUNS = Number(process.env['FAST_CHECK_RUNS'] ?? 300);

limitStoreProperties(
  'a memory store',
  () => {
    const clock = new FakeClock();
    return { clock, store: new MemoryStore(clock) };
  },
  { runs: RUNS, bookingRuns: 20 * RUNS, millisecondsEach: 10 * RUNS },
);
