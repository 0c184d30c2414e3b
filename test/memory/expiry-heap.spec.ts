import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Expiring } from '../../lib/memory/expiry-heap.js';
import { ExpiryHeap } from '../../lib/memory/expiry-heap.js';

const RUNS = Number(process.env.FAST_CHECK_RUNS ?? 300);

/** The most entries that one search looks at: a thousand to move back, and one more. */
const LOOKED_AT = 1_001;

/** An entry whose end can be moved without telling the heap. */
interface Entry extends Expiring {
  endsUs: number;
}

const entry = (endsUs: number): Entry => ({
  endsUs,
  expiresUs() {
    return this.endsUs;
  },
  due: 0,
  heapIndex: -1,
});

const fill = (ends: readonly number[]) => {
  const heap = new ExpiryHeap<Entry>();
  const entries = ends.map(entry);
  for (const one of entries) heap.add(one, 0);
  return { heap, entries };
};

const moment = fc.oneof(fc.nat(20), fc.nat(1_000_000));

/** Adds at a time, removes one of those that are there, or lets time pass and looks. */
const action = fc.oneof(
  fc.record({ what: fc.constant('add' as const), us: moment }),
  fc.record({ what: fc.constant('remove' as const), us: fc.nat() }),
  fc.record({ what: fc.constant('look' as const), us: moment }),
);

const prolongation = fc.record({ what: fc.constant('prolong' as const), us: moment });

describe('an expiry heap', () => {
  it('finds nothing when it is empty', () => {
    expect(new ExpiryHeap<Entry>().findExpired(Number.MAX_SAFE_INTEGER)).toBeUndefined();
  });

  it('finds what ends at this moment and not what ends a microsecond later', () => {
    const { heap, entries } = fill([100]);
    expect(heap.findExpired(99)).toBeUndefined();
    expect(heap.findExpired(100)).toBe(entries[0]);
  });

  it('keeps what it has found until it is removed', () => {
    const { heap, entries } = fill([100]);
    expect(heap.findExpired(100)).toBe(entries[0]);
    expect(heap.findExpired(100)).toBe(entries[0]);
    heap.remove(entries[0]!);
    expect(heap.findExpired(100)).toBeUndefined();
  });

  it('finds in the order of a sorted array', () => {
    const sorts = fc.property(fc.array(moment, { maxLength: 100 }), (ends) => {
      const { heap } = fill(ends);
      const found: number[] = [];
      for (let top; (top = heap.findExpired(Infinity)); heap.remove(top)) found.push(top.endsUs);
      expect(found).toEqual([...ends].sort((a, b) => a - b));
    });
    fc.assert(sorts, { numRuns: RUNS });
  });

  it('finds in the order of a sorted array whatever was removed before', () => {
    const ends = fc.array(fc.tuple(moment, fc.boolean()), { minLength: 10, maxLength: 100 });
    const sorts = fc.property(ends, (pairs) => {
      const { heap, entries } = fill(pairs.map(([us]) => us));
      entries.forEach((one, i) => {
        if (pairs[i]![1]) heap.remove(one);
      });
      const found: number[] = [];
      for (let top; (top = heap.findExpired(Infinity)); heap.remove(top)) found.push(top.endsUs);
      const rest = pairs.filter(([, removed]) => !removed).map(([us]) => us);
      expect(found).toEqual(rest.sort((a, b) => a - b));
    });
    fc.assert(sorts, { numRuns: RUNS });
  });

  it('finds the first of a sorted array while entries come and go', () => {
    const actions = fc.array(action, { minLength: 10, maxLength: 100 });
    const agrees = fc.property(actions, (steps) => {
      const heap = new ExpiryHeap<Entry>();
      const sorted: Entry[] = [];
      for (const { what, us } of steps) {
        if (what === 'add') {
          sorted.push(entry(us));
          heap.add(sorted.at(-1)!, 0);
          sorted.sort((a, b) => a.endsUs - b.endsUs);
        } else if (what === 'remove' && sorted.length > 0) {
          heap.remove(sorted.splice(us % sorted.length, 1)[0]!);
        }
        const first = sorted[0]?.endsUs;
        const expected = first !== undefined && first <= us ? first : undefined;
        expect(heap.findExpired(us)?.endsUs).toBe(expected);
      }
    });
    fc.assert(agrees, { numRuns: RUNS });
  });

  it('never takes a prolonged entry for expired, and misses none that is', () => {
    const actions = fc.array(fc.oneof(action, prolongation), { minLength: 10, maxLength: 100 });
    const agrees = fc.property(actions, (steps) => {
      const heap = new ExpiryHeap<Entry>();
      const entries: Entry[] = [];
      for (const { what, us } of steps) {
        const index = us % Math.max(1, entries.length);
        if (what === 'add') {
          entries.push(entry(us));
          heap.add(entries.at(-1)!, 0);
        } else if (what === 'remove' && entries.length > 0) {
          heap.remove(entries.splice(index, 1)[0]!);
        } else if (what === 'prolong' && entries.length > 0) {
          entries[index]!.endsUs += us;
        }
        const found = heap.findExpired(us);
        const expired = entries.filter(({ endsUs }) => endsUs <= us);
        if (expired.length === 0) expect(found).toBeUndefined();
        else expect(expired).toContain(found);
      }
    });
    fc.assert(agrees, { numRuns: RUNS });
  });

  it('looks at a bounded number of entries in one search, and goes on in the next', () => {
    const { heap, entries } = fill(Array.from({ length: 3 * LOOKED_AT }, () => 0));
    const expired = entry(50);
    heap.add(expired, 0);
    for (const one of entries) one.endsUs = 1_000;
    const found = [1, 2, 3, 4].map(() => heap.findExpired(50));
    expect(found).toEqual([undefined, undefined, undefined, expired]);
  });
});
