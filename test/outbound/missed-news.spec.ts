import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Gate, GateState, GateWatch } from '../../lib/core/gate.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { DistantStore } from '../support/distant-store.js';
import { FakeTicker } from '../support/fake-ticker.js';
import { OutboundStage } from '../support/outbound-stage.js';

const SITE = 'site.example';
/** News is faster than answers. */
const DISTANCES = { thereMs: () => 1, backMs: () => 3, newsMs: () => 1 };

let ticker: FakeTicker;
let shared: MemoryStore;
/** Always hears everything. */
let here: OutboundStage;

beforeEach(() => {
  ticker = new FakeTicker();
  shared = new MemoryStore(ticker.clock);
  here = new OutboundStage({ ticker, store: shared });
});

function tellsOf({ throttler: { events } }: OutboundStage): string[] {
  const told: string[] = [];
  events.on('cooldown', ({ domain, cooldownMs, consecutiveBlocks }) =>
    told.push(`cooldown ${domain} ${cooldownMs} #${consecutiveBlocks}`),
  );
  events.on('recovered', ({ domain }) => told.push(`recovered ${domain}`));
  return told;
}

async function block(times: number): Promise<void> {
  for (let i = 0; i < times; i++) await here.throttler.recordBlock(SITE, 'captcha');
}

describe('a worker that hears nothing from others is told of a cooldown', () => {
  class DeafStore extends MemoryStore {
    override lookAtGate(gate: Gate): GateState {
      return shared.lookAtGate(gate);
    }

    override decide(inquiry: Parameters<MemoryStore['decide']>[0]) {
      return shared.decide(inquiry);
    }

    override changeGate(change: Parameters<MemoryStore['changeGate']>[0]) {
      return shared.changeGate(change);
    }

    override watchGates(): GateWatch {
      return { isLive: false, gaps: 0, close: () => undefined };
    }
  }

  let deaf: OutboundStage;
  let told: string[];

  beforeEach(() => {
    deaf = new OutboundStage({ ticker, store: new DeafStore(ticker.clock) });
    told = tellsOf(deaf);
  });

  it('by the first call that has to wait for its end, and once', async () => {
    await block(3);
    await ticker.advance(5_000);
    const waits = [1, 2, 3].map(() => deaf.limiter.wait(SITE));
    await ticker.advance(1_000);
    await expect(deaf.limiter.wait(SITE, { timeoutMs: 100 })).rejects.toThrow();
    expect(told).toEqual([`cooldown ${SITE} 40000 #3`]);
    await ticker.advance(39_000);
    await deaf.throttler.recordSuccess(SITE, { permit: await waits[0]! });
    expect(told).toEqual([`cooldown ${SITE} 40000 #3`, `recovered ${SITE}`]);
  });

  it('by the first call that may not be made', async () => {
    await block(3);
    for (let i = 0; i < 3; i++) {
      expect(await deaf.limiter.allow(SITE)).toMatchObject({ allowed: false });
    }
    expect(told).toEqual([`cooldown ${SITE} 45000 #3`]);
  });

  it('when it looks whether a turn is still good', async () => {
    const waits = [1, 2, 3].map(() => deaf.limiter.wait(SITE));
    await Promise.all(waits.slice(0, 2));
    await block(3);
    await ticker.advance(100);
    expect(told).toEqual([`cooldown ${SITE} 44900 #3`]);
  });

  it('not while one call tries whether it is over', async () => {
    await block(3);
    await ticker.advance(45_000);
    await here.limiter.wait(SITE);
    expect(await deaf.limiter.allow(SITE)).toMatchObject({ allowed: false });
    expect(told).toEqual([]);
  });
});

describe('a worker that hears from others again', () => {
  let store: DistantStore;
  let there: OutboundStage;
  let told: string[];

  beforeEach(async () => {
    store = new DistantStore(shared, ticker, DISTANCES);
    there = new OutboundStage({ ticker, store });
    told = tellsOf(there);
    there.book.use(SITE);
    there.book.use('other.example');
    await ticker.advance(10);
    store.isDeaf = true;
  });

  it('is told of a cooldown that began meanwhile, without making a call', async () => {
    await block(3);
    await ticker.advance(1_000);
    expect(told).toEqual([]);
    store.isDeaf = false;
    await ticker.advance(10);
    expect(told).toEqual([`cooldown ${SITE} 43999 #3`]);
  });

  it('is not told again of one that it knows', async () => {
    store.isDeaf = false;
    await ticker.advance(10);
    await block(3);
    await ticker.advance(10);
    store.isDeaf = true;
    await ticker.advance(5_000);
    store.isDeaf = false;
    await ticker.advance(10);
    expect(told).toEqual([`cooldown ${SITE} 45000 #3`]);
  });

  it('knows of blocks that it missed, which its success ends', async () => {
    await Promise.all([there.throttler.recordSuccess(SITE), ticker.advance(10)]);
    await block(2);
    store.isDeaf = false;
    await ticker.advance(10);
    await Promise.all([there.throttler.recordSuccess(SITE), ticker.advance(10)]);
    expect(await here.throttler.state(SITE)).toMatchObject({ consecutiveBlocks: 0 });
  });

  it('believes what it hears rather than what it had asked for before', async () => {
    await block(2);
    store.isDeaf = false;
    // The look has arrived and its answer is under way, behind the news.
    await ticker.advance(1);
    await block(1);
    await ticker.advance(10);
    expect(there.book.find(SITE)!.blocks).toBe(3);
    expect(told).toEqual([`cooldown ${SITE} 45000 #3`]);
  });

  it('looks at its domains once, also when it was deaf again meanwhile', async () => {
    let looks = 0;
    const look = shared.lookAtGate.bind(shared);
    shared.lookAtGate = (gate) => (looks++, look(gate));
    store.isDeaf = false;
    await ticker.advance(1);
    store.isDeaf = true;
    store.isDeaf = false;
    await ticker.advance(100);
    // What was begun at first goes no further: one look, and two.
    expect(looks).toBe(3);
  });
});
