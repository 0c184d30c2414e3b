import 'reflect-metadata';
import { EventEmitter, once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ForbiddenException } from '@nestjs/common';
import type { Return } from '../../../lib/index.js';
import { MemoryStore, RateLimiter, RateLimitModule } from '../../../lib/index.js';
import { FakeClock } from '../../support/fake-clock.js';
import { closeClients } from '../../support/gateway-clients.js';
import type { HandlerName, HandlerWork, MessageApp, Sent } from '../../support/message-stages.js';
import { MESSAGE_STAGES } from '../../support/message-stages.js';
import { until } from '../../support/redis-servers.js';

/** Counts what is given back. */
class CountingStore extends MemoryStore {
  releases = 0;

  override giveBack(returned: Return): boolean {
    if (returned.kind === 'release') this.releases++;
    return super.giveBack(returned);
  }
}

let store: CountingStore;
let app: MessageApp;
let signals: EventEmitter;
let ends: number;
/** Whom the tests have sent, and who may still be there. */
let sent: Sent[];

beforeEach(() => {
  store = new CountingStore(new FakeClock());
  signals = new EventEmitter();
  ends = 0;
  sent = [];
});

afterEach(async () => {
  await closeClients();
  await Promise.all(sent.map((one) => one.leave()));
  await app.close();
});

/** Works until the test says so. */
async function work(): Promise<string> {
  const end = once(signals, 'end');
  signals.emit('begun');
  await end;
  ends++;
  return 'done';
}

async function fail(): Promise<never> {
  await work();
  throw new ForbiddenException();
}

const WORK: HandlerWork = {
  work,
  fail,
  guard: { canActivate: fail },
  pipe: { transform: fail },
};

const start = (maxHoldMs?: number) => {
  const plans = { slot: { maxConcurrent: 1, ...(maxHoldMs === undefined ? {} : { maxHoldMs }) } };
  return { imports: [RateLimitModule.forRoot({ plans, store })] };
};

async function free(): Promise<number> {
  return (await app.context.get(RateLimiter).peek('all', 'slot')).remainingTokens;
}

const untilFree = () => until('the slot is free', async () => (await free()) === 1);
const turn = () => new Promise(setImmediate);

/** Sends a message and waits until something works on it. */
async function begin(handler: HandlerName): Promise<Sent> {
  const begun = once(signals, 'begun');
  const one = await app.send(handler);
  await begun;
  return one;
}

describe.each(MESSAGE_STAGES)('a slot of a message by $name', (stage) => {
  it.each(['work', 'fail', 'piped'] as const)(
    'is held until the handler has settled, and given back once: %s',
    async (handler) => {
      app = await stage.start(WORK, start());
      sent.push(await begin(handler));
      expect([await free(), store.releases]).toEqual([0, 0]);
      signals.emit('end');
      await untilFree();
      await turn();
      expect([ends, store.releases]).toEqual([1, 1]);
    },
  );

  it.each(['work', 'fail'] as const)(
    'is held while the handler works whose caller has gone: %s',
    async (handler) => {
      app = await stage.start(WORK, start());
      const caller = await begin(handler);
      await caller.leave();
      await turn();
      expect([await free(), store.releases]).toEqual([0, 0]);
      signals.emit('end');
      await untilFree();
      await turn();
      expect([ends, store.releases]).toEqual([1, 1]);
    },
  );

  it.each(['the class', 'a base class'] as const)(
    'is held while the handler works whose caller has gone, limited by %s',
    async (place) => {
      app = await stage.start(WORK, start(), place);
      const caller = await begin('work');
      await caller.leave();
      await turn();
      expect([await free(), store.releases]).toEqual([0, 0]);
      signals.emit('end');
      await untilFree();
      await turn();
      expect([ends, store.releases]).toEqual([1, 1]);
    },
  );

  it('is not taken by a message that a guard refuses', async () => {
    app = await stage.start(WORK, start());
    sent.push(await begin('guarded'));
    expect(await free()).toBe(1);
    signals.emit('end');
    await until('the guard has refused', () => ends === 1);
    await turn();
    expect([await free(), store.releases]).toEqual([1, 0]);
  });

  it('that is held too long is given back once, with a warning for each handler', async () => {
    app = await stage.start(WORK, start(50));
    sent.push(await begin('work'));
    await untilFree();
    sent.push(await begin('work'));
    await until('both were given back', () => store.releases === 2);
    signals.emit('end');
    await until('both have ended', () => ends === 2);
    await turn();
    expect([await free(), store.releases]).toEqual([1, 2]);
    const warned = app.logs.warnings.filter((line) => line.startsWith('SLOT_HELD_TOO_LONG'));
    expect(warned).toHaveLength(1);
    expect(warned[0]).toContain(`SLOT_HELD_TOO_LONG: ${app.className}.work, plan "slot". `);
  });
});
