import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Decision } from '../../lib/core/limit-store.js';
import { CostTally } from '../../lib/outbound/cost-tally.js';
import type { Turn } from '../../lib/outbound/turn.js';
import { TurnRow } from '../../lib/outbound/turn-row.js';
import { Waiter } from '../../lib/outbound/waiter.js';
import { WaiterLine } from '../../lib/outbound/waiter-line.js';

const RUNS = Number(process.env.FAST_CHECK_RUNS ?? 300);

const waiter = (expiresMs = Number.POSITIVE_INFINITY, tokens = 1) =>
  new Waiter({
    ...{ tokens, arrivedMs: -1, expiresMs },
    ...{ resolve: () => undefined, reject: () => undefined },
  });

const turn = (atMs: number, tokens = 1): Turn => ({
  ...{ atMs, tokens, askedMs: 0, bookedMs: 0, gaps: 0, leaseId: '' },
  decision: { waitUs: 1 } as Decision,
});

/** A line, and the turns that it goes by. */
function newLine() {
  const costs = new CostTally();
  const row = new TurnRow();
  let hasDropped = false;
  const turns = {
    at: (index: number) => row.at(index),
    noticeDropped: () => hasDropped && !(hasDropped = false),
  };
  const line = new WaiterLine(turns, costs);
  const add = (one: Turn) => {
    costs.add(one.tokens);
    row.add(one);
  };
  /** All turns from there on are void. */
  const drop = (from: number) => {
    for (const { tokens } of row.takeFrom(from)) costs.remove(tokens);
    hasDropped = true;
  };
  const go = () => {
    costs.remove(row.takeFirst()!.tokens);
    line.takeFirst();
  };
  return { line, row, add, drop, go };
}

/** A line that looks at everybody, always: what it says is so. */
class PlainLine {
  waiters: Waiter[] = [];
  turns: Turn[] = [];

  get withTurn(): number {
    const unfit = this.waiters.findIndex((one, i) => !this.turns[i] || !one.canUse(this.turns[i]));
    return unfit === -1 ? this.waiters.length : unfit;
  }

  remove(gone: readonly Waiter[]): void {
    this.waiters = this.waiters.filter((one) => !gone.includes(one));
  }
}

const times = fc.oneof(fc.nat(20), fc.constant(Number.POSITIVE_INFINITY));
const action = fc.oneof(
  fc.record({ what: fc.constant('come' as const), ms: times }),
  fc.record({ what: fc.constant('leave' as const), at: fc.nat() }),
  fc.record({ what: fc.constant('book' as const), ms: fc.nat(20) }),
  fc.record({ what: fc.constant('drop' as const), from: fc.nat(8) }),
  fc.record({ what: fc.constant('go' as const) }),
  fc.record({ what: fc.constant('expire' as const), ms: fc.nat(20) }),
  fc.record({ what: fc.constant('hurry' as const), ms: fc.nat(20) }),
  fc.record({ what: fc.constant('look' as const), most: fc.nat(12) }),
);

describe('a line of waiters', () => {
  it('answers as one that looks at everybody does', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const { line, row, add, drop, go } = newLine();
        const plain = new PlainLine();
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
          } else if (one.what === 'book') {
            const booked = turn(one.ms);
            add(booked);
            plain.turns.push(booked);
            plain.turns.sort((a, b) => a.atMs - b.atMs);
          } else if (one.what === 'drop') {
            drop(one.from);
            plain.turns.splice(one.from);
          } else if (one.what === 'go' && plain.withTurn > 0) {
            expect(line.withTurn).toBe(plain.withTurn);
            go();
            plain.waiters.shift();
            plain.turns.shift();
          } else if (one.what === 'expire') {
            const gone = plain.waiters.filter(({ expiresMs }) => expiresMs <= one.ms);
            expect(line.takeExpired(one.ms)).toEqual(gone);
            plain.remove(gone);
          } else if (one.what === 'hurry') {
            const without = plain.waiters.slice(plain.withTurn);
            const gone = without.filter(({ expiresMs }) => expiresMs < one.ms);
            expect(line.takeImpatient(one.ms)).toEqual(gone);
            plain.remove(gone);
          } else if (one.what === 'look') {
            const without = plain.waiters.slice(plain.withTurn, plain.withTurn + one.most);
            expect(line.without(one.most)).toEqual(without);
          }
          const soonestMs = Math.min(...plain.waiters.map(({ expiresMs }) => expiresMs), Infinity);
          expect([line.size, line.first]).toEqual([plain.waiters.length, plain.waiters[0]]);
          expect([line.withTurn, line.soonestExpiryMs]).toEqual([plain.withTurn, soonestMs]);
          expect(row.size).toBe(plain.turns.length);
        }
        expect(line.takeAll()).toEqual(plain.waiters);
        expect([line.size, line.first]).toEqual([0, undefined]);
      }),
      { numRuns: RUNS },
    );
  });

  it('gives nobody a turn that is too late, nor those behind', () => {
    const { line, add } = newLine();
    const [first, late, last] = [waiter(), waiter(20), waiter()];
    for (const one of [first, late, last]) line.push(one);
    for (const atMs of [10, 21, 30]) add(turn(atMs));
    expect([line.withTurn, line.without(9)]).toEqual([1, [late, last]]);
    line.remove(first);
    expect([line.withTurn, line.without(9)]).toEqual([2, []]);
  });

  it('knows when those who cost more or less may have each other’s turns', () => {
    const { line, add } = newLine();
    const [one, two, three] = [waiter(), waiter(), waiter(undefined, 2)];
    for (const each of [one, two, three]) line.push(each);
    add(turn(10));
    add(turn(20));
    add(turn(30, 2));
    expect([line.withTurn, line.isOutOfStep]).toEqual([3, false]);
    line.remove(one);
    expect(line.isOutOfStep).toBe(true);
    line.fallIntoStep();
    expect([line.withTurn, line.isOutOfStep]).toEqual([1, false]);
  });
});
