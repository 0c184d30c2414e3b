import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Gate, GateChange, GateState } from '../../lib/core/gate.js';
import { HOLDER_GRACE_US, HOLDER_LIFE_US } from '../../lib/core/gate.js';
import type { Inquiry, LimitStore, Return } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import type { DomainRule } from '../../lib/outbound/outbound-rules.js';
import { DistantStore } from '../support/distant-store.js';
import { FakeTicker } from '../support/fake-ticker.js';
import { OutboundStage } from '../support/outbound-stage.js';

const SITE = 'site.example';
const NEAR = { thereMs: () => 0, backMs: () => 0, newsMs: () => 0 };
/** One a second, one at once. */
const RULE: DomainRule = { requestsPerSecond: 1, burstCapacity: 1 };
const HOLD_UP_MS = 5_000;

/** The way of one process to the store; cut, whatever is asked arrives when it is whole again. */
class Way extends DistantStore {
  readonly asked: string[] = [];
  #held: (() => void)[] | undefined;

  constructor(store: LimitStore, ticker: FakeTicker) {
    super(store, ticker, NEAR);
  }

  override decide(inquiry: Inquiry) {
    return this.#pass('decide', () => super.decide(inquiry));
  }

  override changeGate(change: GateChange): Promise<GateState> {
    const { kind } = change;
    const isLeaving = change.kind === 'beat' && change.dueUs === 0;
    return this.#pass(isLeaving ? 'leave' : kind, () => super.changeGate(change));
  }

  override lookAtGate(gate: Gate): Promise<GateState> {
    return this.#pass('look', () => super.lookAtGate(gate));
  }

  override giveBack(returned: Return): Promise<boolean> {
    return this.#pass('giveBack', () => super.giveBack(returned));
  }

  cut(): void {
    this.isDeaf = true;
    this.#held = [];
  }

  mend(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const goOn of held) goOn();
    this.isDeaf = false;
  }

  async #pass<T>(what: string, send: () => Promise<T>): Promise<T> {
    if (this.#held) await new Promise<void>((resolve) => this.#held!.push(resolve));
    this.asked.push(what);
    return send();
  }
}

let ticker: FakeTicker;
let store: MemoryStore;
let startMs: number;
let gone: string[];

beforeEach(() => {
  ticker = new FakeTicker();
  store = new MemoryStore(ticker.clock);
  startMs = ticker.nowMs();
  gone = [];
});

function start(holder: string, rule = RULE, memoryMs = 600_000) {
  const way = new Way(store, ticker);
  const stage = new OutboundStage({
    ticker,
    store: way,
    default: rule,
    holder,
    throttle: { memoryMs },
  });
  /** Nothing is heard or sent any more, as if the process was killed. */
  const die = () => {
    way.cut();
    stage.limiter.close('dead');
  };
  return { ...stage, way, die };
}

type Process = ReturnType<typeof start>;

function wait({ limiter }: Process, name: string, options = {}): void {
  limiter.wait(SITE, options).then(
    () => gone.push(`${name} ${Math.round(ticker.nowMs() - startMs)}`),
    (error: Error) => gone.push(`${name} ${error.name}`),
  );
}

function count(asked: readonly string[], what: string): number {
  return asked.filter((one) => one === what).length;
}

describe('a process that has died', () => {
  it('holds up those who wait behind it for less than five seconds, and they keep their order', async () => {
    const [dead, alive] = [start('dead'), start('alive')];
    for (let i = 0; i < 300; i++) wait(dead, 'dead');
    await ticker.advance(1);
    for (const name of ['a', 'b', 'c']) wait(alive, name);
    await ticker.advance(99);
    dead.die();
    await ticker.advance(0);
    gone = [];
    await ticker.advance(HOLD_UP_MS + 2_000);
    const [first = ''] = gone;
    expect(gone.map((one) => one[0])).toEqual(['a', 'b', 'c']);
    const longestMs = (HOLDER_LIFE_US + HOLDER_GRACE_US) / 1_000 + 750 + 1_000;
    expect(Number(first.slice(2)) - 100).toBeLessThanOrEqual(longestMs);
    // One a second from there.
    const [a, b, c] = gone.map((one) => Number(one.slice(2)));
    expect([b! - a!, c! - b!]).toEqual([1_000, 1_000]);
  });

  it('is found out by one who asks and does not wait', async () => {
    const [dead, alive] = [start('dead'), start('alive')];
    for (let i = 0; i < 300; i++) wait(dead, 'dead');
    await ticker.advance(100);
    dead.die();
    await ticker.advance(100);
    const early = await askNow(alive);
    expect(early.retryAfterMs).toBeGreaterThan(290_000);
    await ticker.advance(HOLDER_LIFE_US / 1_000);
    const late = await askNow(alive);
    expect(late.retryAfterMs).toBeLessThanOrEqual(HOLDER_GRACE_US / 1_000 + 1_000);
  });

  it('does not make one fail who can wait for a while', async () => {
    const [dead, alive] = [start('dead'), start('alive')];
    for (let i = 0; i < 300; i++) wait(dead, 'dead');
    await ticker.advance(100);
    dead.die();
    await ticker.advance(HOLD_UP_MS);
    gone = [];
    wait(alive, 'patient', { timeoutMs: 3_000 });
    await ticker.advance(3_000);
    expect(gone).toHaveLength(1);
    expect(gone[0]).toMatch(/^patient \d+$/);
  });

  /** Time has to pass for an answer to arrive. */
  async function askNow({ limiter }: Process) {
    const asking = limiter.allow(SITE);
    await ticker.advance(0);
    return asking;
  }
});

describe('a process that only looked dead', () => {
  it('uses no turn that was given to others meanwhile, nor one that is late', async () => {
    const rule = { requestsPerSecond: 10, burstCapacity: 1 };
    const [frozen, alive] = [start('frozen', rule), start('alive', rule)];
    for (let i = 0; i < 100; i++) wait(frozen, 'f');
    await ticker.advance(10);
    for (let i = 0; i < 100; i++) wait(alive, 'a');
    await ticker.advance(500);
    frozen.way.cut();
    const frozenAtMs = ticker.nowMs() - startMs;
    await ticker.advance(6_000);
    const meanwhile = gone.filter((one) => one.startsWith('f')).map((one) => Number(one.slice(2)));
    // As long as the others count on it, and no longer.
    expect(Math.max(...meanwhile)).toBeLessThanOrEqual(frozenAtMs + HOLDER_GRACE_US / 1_000);
    frozen.way.mend();
    await ticker.advance(30_000);
    const times = gone.map((one) => Number(one.slice(2))).sort((one, other) => one - other);
    times.forEach((atMs, i) => {
      const before = times[i - 1];
      if (before !== undefined) expect(atMs - before).toBeGreaterThanOrEqual(99);
    });
  });
});

describe('the call that tries after a cooldown', () => {
  /** Two processes wait for the end of a cooldown, and one of them is let go. */
  async function coolDown() {
    const [tries, waits] = [start('tries'), start('waits')];
    for (let i = 0; i < 3; i++) void tries.throttler.recordBlock(SITE, 'captcha');
    await ticker.advance(0);
    wait(tries, 'tries');
    await ticker.advance(10);
    wait(waits, 'waits');
    await ticker.advance(45_500);
    expect(gone).toHaveLength(1);
    expect(gone[0]).toMatch(/^tries/);
    return { tries, waits };
  }

  it('is waited for as long as its process lives', async () => {
    await coolDown();
    await ticker.advance(25_000);
    expect(gone).toHaveLength(1);
  });

  it('is followed by another one soon when its process dies', async () => {
    const { tries } = await coolDown();
    await ticker.advance(3_000);
    tries.die();
    await ticker.advance(HOLD_UP_MS);
    expect(gone).toHaveLength(2);
    expect(gone[1]).toMatch(/^waits/);
  });
});

it('a queue that is longer than the memory of its gate keeps its turns', async () => {
  const [dead, alive] = [start('dead', RULE, 5_000), start('alive', RULE, 5_000)];
  for (let i = 0; i < 300; i++) wait(dead, 'dead');
  await ticker.advance(1);
  for (let i = 0; i < 30; i++) wait(alive, 'a');
  await ticker.advance(1);
  dead.die();
  await ticker.advance(HOLD_UP_MS + 10_000);
  wait(alive, 'a');
  await ticker.advance(35_000);
  const times = gone.filter((one) => one.startsWith('a ')).map((one) => Number(one.slice(2)));
  expect(times).toHaveLength(31);
  const gapsMs = times.slice(1).map((atMs, i) => atMs - times[i]!);
  expect(new Set(gapsMs)).toEqual(new Set([1_000]));
});

describe('what it costs', () => {
  it('is nothing for who need not wait', async () => {
    const one = start('one', { requestsPerSecond: 1, burstCapacity: 10 });
    for (let i = 0; i < 10; i++) wait(one, 'call');
    await ticker.advance(10_000);
    expect(gone).toHaveLength(10);
    expect(new Set(one.way.asked)).toEqual(new Set(['decide']));
  });

  it('is nothing for a wait that is short', async () => {
    const one = start('one', { requestsPerSecond: 2, burstCapacity: 1 });
    wait(one, 'first');
    wait(one, 'second');
    await ticker.advance(10_000);
    expect(gone).toEqual(['first 0', 'second 500']);
    expect(one.way.asked).toEqual(['decide', 'decide']);
  });

  it('is one message in three quarters of a second while turns are booked, however many', async () => {
    const one = start('one');
    for (let i = 0; i < 31; i++) wait(one, 'call');
    await ticker.advance(100_000);
    expect(gone).toHaveLength(31);
    expect(count(one.way.asked, 'beat')).toBe(39);
    expect(count(one.way.asked, 'leave')).toBe(0);
    expect(ticker.timers).toBe(0);
  });

  it('is one message more for who leaves before its turns have come', async () => {
    const [one, other] = [start('one'), start('other')];
    const leaving = new AbortController();
    for (let i = 0; i < 31; i++) wait(one, 'call', { signal: leaving.signal });
    await ticker.advance(100);
    leaving.abort();
    await ticker.advance(100);
    expect(count(one.way.asked, 'leave')).toBe(1);
    await ticker.advance(60_000);
    expect(count(one.way.asked, 'beat')).toBe(0);
    wait(other, 'next');
    await ticker.advance(1_000);
    expect(gone.at(-1)).toMatch(/^next/);
  });

  it('is nothing where no other process shares the store', async () => {
    const changes: string[] = [];
    class Watched extends MemoryStore {
      override changeGate(change: GateChange): GateState {
        changes.push(change.kind);
        return super.changeGate(change);
      }
    }
    const alone = new OutboundStage({ ticker, store: new Watched(ticker.clock), default: RULE });
    for (let i = 0; i < 10; i++) void alone.limiter.wait(SITE);
    await ticker.advance(20_000);
    expect(changes).toEqual([]);
  });
});
