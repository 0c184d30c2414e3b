import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { GateState } from '../../lib/core/gate.js';
import { HOLDER_GRACE_US, HOLDER_LIFE_US } from '../../lib/core/gate.js';
import type { Decision, Inquiry, Limit, LimitStore } from '../../lib/core/limit-store.js';
import { until } from '../support/redis-servers.js';

/** A store to be tested, and its time. */
export interface GateStage {
  readonly store: LimitStore;
  advanceUs(us: number): void;
}

const MINUTE = 60_000_000;
const SECOND = 1_000_000;
/** 10 a second, 5 at once. */
const BUCKET = definePlan('bucket', { capacity: 5, tokensPerSecond: 10 });

/** What every store promises about gates. */
export function gateContract(name: string, create: () => GateStage): void {
  describe(`${name} with a gate`, () => {
    let stage: GateStage;
    let store: LimitStore;
    let key: string;

    beforeEach(() => {
      stage = create();
      ({ store } = stage);
      key = randomUUID();
    });

    function base() {
      const gate = { key, probeUs: 2 * SECOND };
      return { gate, bucket: { plan: BUCKET, key, cost: 1 }, memoryUs: 10 * MINUTE };
    }

    async function ask(rest: Partial<Inquiry> = {}): Promise<Decision> {
      const { gate, bucket } = base();
      const inquiry = { mode: 'reserve', maxWaitUs: 0, leaseId: 'me' } as const;
      return store.decide({ ...inquiry, limits: [bucket], gate, ...rest });
    }

    async function block(rest: { retryAfterUs?: number; generation?: number } = {}) {
      const rules = { threshold: 3, cooldownUs: 30 * SECOND, retryAfterUs: 0 };
      return store.changeGate({
        ...base(),
        kind: 'block',
        ...rules,
        generation: undefined,
        ...rest,
      });
    }

    async function succeed(generation?: number): Promise<GateState> {
      return store.changeGate({ ...base(), kind: 'success', generation });
    }

    async function replan(wastedUs: number, always = false): Promise<GateState> {
      return store.changeGate({ ...base(), kind: 'replan', wastedUs, always });
    }

    async function giveUp(probeUntilUs: number | undefined): Promise<GateState> {
      return store.changeGate({ ...base(), kind: 'free', probeUntilUs });
    }

    async function look(): Promise<GateState> {
      return store.lookAtGate(base().gate);
    }

    async function coolDown(): Promise<void> {
      for (let i = 0; i < 3; i++) await block();
    }

    it('lets pass what it knows nothing about', async () => {
      const decision = await ask();
      expect(decision.allowed).toBe(true);
      expect(decision.gate).toEqual({
        generation: 0,
        cutUs: 0,
        waitUs: 0,
        isProbe: false,
        isTried: false,
        blocks: 0,
      });
      expect(await look()).toEqual({
        generation: 0,
        cutUs: 0,
        blocks: 0,
        cooldownUs: 0,
        isTrying: false,
        changed: false,
      });
    });

    it('shuts after three blocks in a row, not before', async () => {
      expect(await block()).toMatchObject({ blocks: 1, cooldownUs: 0, changed: false });
      expect(await block()).toMatchObject({ blocks: 2, cooldownUs: 0, changed: false });
      expect((await ask()).gate).toMatchObject({ blocks: 2, waitUs: 0 });
      expect(await block()).toMatchObject({ blocks: 3, cooldownUs: 30 * SECOND, changed: true });
      stage.advanceUs(10 * SECOND);
      const denied = await ask({ maxWaitUs: MINUTE });
      expect(denied).toMatchObject({ allowed: false, waitUs: 20 * SECOND });
      expect(denied.gate).toMatchObject({ waitUs: 20 * SECOND, isProbe: false });
      expect(denied.limits[0]).toMatchObject({ admits: true, remaining: 5 });
    });

    it('counts from zero after one success', async () => {
      await block();
      await block();
      expect(await succeed()).toMatchObject({ blocks: 0, changed: false });
      expect(await block()).toMatchObject({ blocks: 1, cooldownUs: 0 });
    });

    it('forgets blocks after their time', async () => {
      await block();
      await block();
      stage.advanceUs(11 * MINUTE);
      expect(await block()).toMatchObject({ blocks: 1, changed: false });
    });

    it('takes blocks that come while it is shut for the same event', async () => {
      await coolDown();
      stage.advanceUs(SECOND);
      for (let i = 0; i < 20; i++) {
        expect(await block()).toMatchObject({
          blocks: 3,
          cooldownUs: 29 * SECOND,
          changed: false,
        });
      }
    });

    it('shuts for as long as it is asked to, and is never opened earlier', async () => {
      expect(await block({ retryAfterUs: 5 * SECOND })).toMatchObject({
        blocks: 1,
        cooldownUs: 5 * SECOND,
        changed: true,
      });
      expect(await block({ retryAfterUs: SECOND })).toMatchObject({
        cooldownUs: 5 * SECOND,
        changed: false,
      });
      expect(await block({ retryAfterUs: 9 * SECOND })).toMatchObject({
        cooldownUs: 9 * SECOND,
        changed: true,
      });
    });

    it('does not shorten a cooldown that is longer than what it was asked for', async () => {
      await block();
      await block();
      expect(await block({ retryAfterUs: SECOND })).toMatchObject({ cooldownUs: 30 * SECOND });
    });

    it('is not opened by a success while it is shut', async () => {
      await coolDown();
      expect(await succeed()).toMatchObject({ cooldownUs: 30 * SECOND, changed: false });
      expect((await ask()).allowed).toBe(false);
    });

    it('lets one probe pass after the cooldown, and the others wait for it', async () => {
      await coolDown();
      stage.advanceUs(30 * SECOND);
      expect(await look()).toMatchObject({ isTrying: true, cooldownUs: 0 });
      const seen = await ask({ mode: 'peek' });
      expect(seen.gate).toMatchObject({ isProbe: true, waitUs: 0 });
      const probe = await ask();
      expect(probe).toMatchObject({ allowed: true });
      expect(probe.gate).toMatchObject({ isProbe: true });
      const other = await ask();
      expect(other).toMatchObject({ allowed: false, waitUs: 2 * SECOND });
      expect(other.gate).toMatchObject({ isProbe: false, waitUs: 2 * SECOND });
    });

    it('sends another probe when one does not come back', async () => {
      await coolDown();
      stage.advanceUs(30 * SECOND);
      await ask();
      stage.advanceUs(2 * SECOND - 1);
      expect((await ask()).allowed).toBe(false);
      stage.advanceUs(1);
      expect((await ask()).gate).toMatchObject({ isProbe: true });
    });

    it('lets another probe pass at once when one is given up', async () => {
      await coolDown();
      stage.advanceUs(30 * SECOND);
      const { atUs } = await ask();
      stage.advanceUs(SECOND);
      const state = await giveUp(atUs + 2 * SECOND);
      expect(state).toMatchObject({ isTrying: true, blocks: 3, cooldownUs: 0, changed: true });
      expect((await ask()).gate).toMatchObject({ isProbe: true });
      expect((await ask()).gate).toMatchObject({ isProbe: false, waitUs: 2 * SECOND });
    });

    it('keeps waiting for a probe that followed one which is given up late', async () => {
      await coolDown();
      stage.advanceUs(30 * SECOND);
      const { atUs } = await ask();
      stage.advanceUs(2 * SECOND);
      expect((await ask()).gate).toMatchObject({ isProbe: true });
      await giveUp(atUs + 2 * SECOND);
      expect((await ask()).gate).toMatchObject({ isProbe: false, waitUs: 2 * SECOND });
    });

    it('keeps waiting for a probe when it is a slot that is free', async () => {
      await coolDown();
      stage.advanceUs(30 * SECOND);
      await ask();
      expect(await giveUp(undefined)).toMatchObject({ isTrying: true, changed: true });
      expect((await ask()).gate).toMatchObject({ isProbe: false, waitUs: 2 * SECOND });
    });

    it('remembers no longer because a probe was given up', async () => {
      await coolDown();
      stage.advanceUs(30 * SECOND + 9 * MINUTE);
      const { atUs } = await ask();
      await giveUp(atUs + 2 * SECOND);
      stage.advanceUs(MINUTE);
      expect(await look()).toMatchObject({ blocks: 0, isTrying: false });
    });

    it('opens when the probe succeeds, without a burst', async () => {
      await coolDown();
      stage.advanceUs(30 * SECOND);
      const { gate } = await ask();
      stage.advanceUs(SECOND);
      const opened = await succeed(gate!.generation);
      expect(opened).toMatchObject({ blocks: 0, isTrying: false, changed: true });
      expect(opened.generation).toBeGreaterThan(gate!.generation);
      const first = await ask();
      expect(first).toMatchObject({ allowed: false, waitUs: 100_000 });
      expect(first.gate).toMatchObject({ waitUs: 0, isProbe: false });
    });

    it('shuts again when the probe is blocked', async () => {
      await coolDown();
      stage.advanceUs(30 * SECOND);
      const { gate } = await ask();
      expect(await block({ generation: gate!.generation })).toMatchObject({
        cooldownUs: 30 * SECOND,
        changed: true,
      });
    });

    it('hears nothing from requests that were sent before the cooldown', async () => {
      const { gate } = await ask();
      await coolDown();
      stage.advanceUs(30 * SECOND);
      await ask();
      expect(await succeed(gate!.generation)).toMatchObject({ isTrying: true, changed: false });
      expect(await block({ generation: gate!.generation })).toMatchObject({
        cooldownUs: 0,
        changed: false,
      });
    });

    it('makes no new plan for little waste, nor where nobody queues', async () => {
      expect(await replan(10 * SECOND)).toMatchObject({ changed: false });
      for (let i = 0; i < 25; i++) await ask({ maxWaitUs: MINUTE });
      expect(await replan(99_999)).toMatchObject({ changed: false });
    });

    it('plans anew when enough turns were wasted, and owes only what is due at once', async () => {
      for (let i = 0; i < 25; i++) await ask({ maxWaitUs: MINUTE });
      await replan(150_000);
      const state = await replan(60_000);
      expect(state).toMatchObject({ changed: true });
      expect(state.generation).toBeGreaterThan(0);
      const next = await ask({ maxWaitUs: MINUTE });
      expect(next).toMatchObject({ allowed: true, waitUs: 150_000 });
      expect(next.atUs).toBe(state.cutUs - 50_000);
      expect(next.gate).toMatchObject({ generation: state.generation, cutUs: state.cutUs });
    });

    it('gives back a cancelled turn, but none that a new plan has made void', async () => {
      const book = () => ask({ maxWaitUs: MINUTE });
      const cancel = (decision: Decision) =>
        store.giveBack({ kind: 'cancel', decision, leaseId: 'me' });
      const turns = [];
      for (let i = 0; i < 25; i++) turns.push(await book());
      expect(turns.at(-1)!.waitUs).toBe(2 * SECOND);
      expect(await cancel(turns.pop()!)).toBe(true);
      expect((await book()).waitUs).toBe(2 * SECOND);
      await replan(0, true);
      expect(await cancel(turns.pop()!)).toBe(false);
      const next = await book();
      expect(next.waitUs).toBeLessThan(SECOND);
      expect(await cancel(next)).toBe(true);
      expect((await book()).waitUs).toBe(next.waitUs);
    });

    it('plans anew whenever it is told to', async () => {
      const before = await replan(0, true);
      const after = await replan(0, true);
      expect(before.changed).toBe(true);
      expect(after.generation).toBeGreaterThan(before.generation);
    });

    /** A gate as one of several processes has it. */
    function gateOf(holder: string) {
      return { ...base().gate, holder };
    }

    async function book(holder: string, turns: number): Promise<Decision[]> {
      const booked: Decision[] = [];
      for (let i = 0; i < turns; i++) {
        booked.push(await ask({ gate: gateOf(holder), maxWaitUs: MINUTE }));
      }
      return booked;
    }

    /** Alive, with turns that never end unless it says so. */
    async function beat(
      holder: string,
      dueUs: number | undefined = Number.MAX_SAFE_INTEGER,
      slots?: Limit,
    ): Promise<GateState> {
      return store.changeGate({ ...base(), gate: gateOf(holder), kind: 'beat', dueUs, slots });
    }

    /** Looks after the others, without turns of its own. */
    async function lookAfter(slots?: Limit): Promise<GateState> {
      const change = { ...base(), gate: gateOf('guest'), kind: 'beat', slots } as const;
      return store.changeGate({ ...change, dueUs: undefined });
    }

    it('leaves the turns of those that are heard of as they are', async () => {
      await book('one', 25);
      for (let i = 0; i < 10; i++) {
        stage.advanceUs(0.1 * SECOND);
        expect(await beat('one')).toMatchObject({ changed: false, generation: 0 });
      }
      stage.advanceUs(HOLDER_LIFE_US - 1);
      expect(await beat('two')).toMatchObject({ changed: false });
      expect((await ask({ maxWaitUs: MINUTE })).gate).not.toHaveProperty('isOverdue');
    });

    it('gives up the turns of one that is not heard of, but those that are due soon', async () => {
      const turns = await book('dead', 50);
      expect(turns.at(-1)).toMatchObject({ allowed: true, waitUs: 4.5 * SECOND });
      await book('alive', 300);
      stage.advanceUs(HOLDER_LIFE_US - 1);
      expect(await beat('alive')).toMatchObject({ changed: false });
      expect((await ask()).gate).not.toHaveProperty('isOverdue');
      stage.advanceUs(1);
      expect((await ask()).gate).toMatchObject({ isOverdue: true });
      const state = await beat('alive');
      expect(state).toMatchObject({ changed: true });
      const next = await ask({ gate: gateOf('alive'), maxWaitUs: MINUTE });
      expect(next).toMatchObject({ allowed: true, waitUs: HOLDER_GRACE_US + 0.1 * SECOND });
      expect(state.cutUs).toBe(next.atUs + HOLDER_GRACE_US);
      expect(next.gate).toMatchObject({ generation: state.generation, cutUs: state.cutUs });
      expect(next.gate).not.toHaveProperty('isOverdue');
    });

    it('is looked after by one that has no turns', async () => {
      await book('dead', 300);
      stage.advanceUs(HOLDER_LIFE_US);
      expect(await lookAfter()).toMatchObject({ changed: true });
      expect(await lookAfter()).toMatchObject({ changed: false });
    });

    it('owes no more than it did when the turns of the dead are nearly over', async () => {
      await book('dead', 5 + 25);
      stage.advanceUs(HOLDER_LIFE_US);
      expect(await lookAfter()).toMatchObject({ changed: false, generation: 0 });
      expect(await ask({ maxWaitUs: MINUTE })).toMatchObject({ waitUs: 0.35 * SECOND });
    });

    it('misses nobody who has left, nor one whose turns are over', async () => {
      await book('left', 300);
      await beat('left', 0);
      await book('over', 1);
      stage.advanceUs(31 * SECOND);
      expect((await ask({ maxWaitUs: MINUTE })).gate).toMatchObject({ isOverdue: true });
      expect(await lookAfter()).toMatchObject({ changed: false, generation: 0 });
      expect((await ask({ maxWaitUs: MINUTE })).gate).not.toHaveProperty('isOverdue');
    });

    it('knows the last turn of a process although a beat has not heard of it', async () => {
      const [first, last] = await book('dead', 300).then((turns) => [turns[5]!, turns.at(-1)!]);
      expect(last!.waitUs).toBeGreaterThan(20 * SECOND);
      await beat('dead', first!.atUs + first!.waitUs);
      stage.advanceUs(HOLDER_LIFE_US);
      expect(await lookAfter()).toMatchObject({ changed: true });
    });

    it('needs nobody to be heard of who took no turn ahead', async () => {
      await book('quick', 5);
      stage.advanceUs(MINUTE);
      expect((await ask()).gate).not.toHaveProperty('isOverdue');
    });

    it('lets another probe pass when the process that made one has died', async () => {
      await coolDown();
      stage.advanceUs(30 * SECOND);
      const long = { probeUs: 20 * SECOND };
      await ask({ gate: { ...gateOf('dead'), ...long } });
      stage.advanceUs(HOLDER_LIFE_US - 1);
      expect(await lookAfter()).toMatchObject({ changed: false });
      expect((await ask({ gate: { ...gateOf('alive'), ...long } })).allowed).toBe(false);
      stage.advanceUs(1);
      expect(await lookAfter()).toMatchObject({ changed: true, isTrying: true });
      const next = await ask({ gate: { ...gateOf('alive'), ...long } });
      expect(next.gate).toMatchObject({ isProbe: true });
    });

    it('frees the slots that the dead held ahead, not those of calls under way', async () => {
      const lent = definePlan('lent', { maxConcurrent: 60, leaseMs: 12_000 });
      const slots = { plan: lent, key, cost: 1 };
      for (let i = 0; i < 60; i++) {
        const holder = i % 2 ? 'dead' : 'alive';
        const limits = [slots, base().bucket];
        const leaseId = `${holder}:${i}`;
        await ask({ limits, gate: gateOf(holder), leaseId, maxWaitUs: MINUTE });
      }
      stage.advanceUs(HOLDER_LIFE_US);
      await beat('alive', Number.MAX_SAFE_INTEGER, slots);
      // Those from number 27 on are still to come, and every other one of them was the dead one's.
      const peek = await ask({ mode: 'peek', limits: [slots] });
      expect(peek.limits[0]).toMatchObject({ remaining: 17 });
    });

    it('tells whoever watches', async () => {
      const heard: [string, GateState][] = [];
      const watch = store.watchGates((gate, state) => {
        if (gate === key) heard.push([gate, state]);
      });
      await until('the watch to be live', () => watch.isLive);
      await block();
      const opened = await block({ retryAfterUs: SECOND });
      await until('the news', () => heard.length === 2);
      expect(heard[1]).toEqual([key, opened]);
      watch.close();
      await replan(0, true);
      await look();
      expect(heard).toHaveLength(2);
    });
  });
}
