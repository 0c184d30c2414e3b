import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Waiter } from '../../lib/outbound/waiter.js';
import { WaiterLine } from '../../lib/outbound/waiter-line.js';

const RUNS = Number(process.env.FAST_CHECK_RUNS ?? 300);

const waiter = (expiresMs = Number.POSITIVE_INFINITY) =>
  new Waiter({
    ...{ tokens: 1, arrivedMs: 0, expiresMs },
    ...{ resolve: () => undefined, reject: () => undefined },
  });

/** A line that looks at everybody, always: what it says is so. */
class PlainLine {
  waiters: Waiter[] = [];

  without(turns: number): Waiter[] {
    return this.waiters.slice(turns);
  }

  remove(gone: readonly Waiter[]): void {
    this.waiters = this.waiters.filter((one) => !gone.includes(one));
  }
}

const times = fc.oneof(fc.nat(20), fc.constant(Number.POSITIVE_INFINITY));
const action = fc.oneof(
  fc.record({ what: fc.constant('come' as const), ms: times }),
  fc.record({ what: fc.constant('leave' as const), at: fc.nat() }),
  fc.record({ what: fc.constant('expire' as const), turns: fc.nat(12), ms: fc.nat(20) }),
  fc.record({ what: fc.constant('look' as const), turns: fc.nat(12), most: fc.nat(12) }),
);

describe('a line of waiters', () => {
  it('answers as one that looks at everybody does', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const [line, plain] = [new WaiterLine(), new PlainLine()];
        for (const one of actions) {
          if (one.what === 'come') {
            const coming = waiter(one.ms);
            line.push(coming);
            plain.waiters.push(coming);
          } else if (one.what === 'leave' && plain.waiters.length > 0) {
            const leaving = plain.waiters[one.at % plain.waiters.length]!;
            expect(line.remove(leaving)).toBe(true);
            expect(line.remove(leaving)).toBe(false);
            plain.remove([leaving]);
          } else if (one.what === 'expire') {
            const isTooLate = (expiresMs: number) => expiresMs <= one.ms;
            const gone = plain.without(one.turns).filter(({ expiresMs }) => isTooLate(expiresMs));
            expect(line.takeExpired(one.turns, isTooLate)).toEqual(gone);
            plain.remove(gone);
          } else if (one.what === 'look') {
            const without = plain.without(one.turns);
            expect(line.without(one.turns, one.most)).toEqual(without.slice(0, one.most));
            const soonest = Math.min(Infinity, ...without.map(({ expiresMs }) => expiresMs));
            expect(line.soonestExpiryMs(one.turns)).toBe(soonest);
          }
          expect([line.size, line.first]).toEqual([plain.waiters.length, plain.waiters[0]]);
        }
        expect(line.takeAll()).toEqual(plain.waiters);
        expect([line.size, line.first]).toEqual([0, undefined]);
      }),
      { numRuns: RUNS },
    );
  });

  it('lets nobody expire who has a turn, unless the turn is lost', () => {
    const line = new WaiterLine();
    const [first, second] = [waiter(10), waiter(20)];
    line.push(first);
    line.push(second);
    expect(line.soonestExpiryMs(1)).toBe(20);
    expect(line.takeExpired(1, () => true)).toEqual([second]);
    expect(line.soonestExpiryMs(0)).toBe(10);
    expect(line.takeExpired(0, () => true)).toEqual([first]);
  });

  it('moves those behind up when somebody with a turn leaves', () => {
    const line = new WaiterLine();
    const [first, second, third] = [waiter(), waiter(), waiter()];
    for (const one of [first, second, third]) line.push(one);
    expect(line.without(1, 9)).toEqual([second, third]);
    line.remove(first);
    expect(line.without(1, 9)).toEqual([third]);
  });
});
