import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { describeWithServers } from '../support/describe-with-servers.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/redis-servers.js';
import { faultReport } from './fault-report.js';
import type { ClockHand } from './shifted-clock.js';
import { HAS_COMPILER, ShiftedClock } from './shifted-clock.js';
import type { Server } from './stage.js';
import { expectAllDecided, expectHarmless, PATIENT, playUnderLoad, Stage } from './stage.js';

const report = faultReport('clock');
const HOUR_MS = 3_600_000;

const PLANS = {
  bucket: { capacity: 5, tokensPerSecond: 10 },
  window: { limit: 5, windowMs: 500 },
};

describeWithServers('native server', 'clocks:', () => {
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage();
  });

  afterEach(async () => {
    await stage.end();
  });

  // Without a compiler there is no way to move a server's clock, and jest shows these as skipped. With
  // one, a shim that does not compile or does not work is a failure, on every machine.
  (HAS_COMPILER ? describe : describe.skip)('the clock of Redis (needs a C compiler)', () => {
    let clock: ShiftedClock;
    let hand: ClockHand;
    let server: Server;
    let admin: Redis;

    beforeAll(() => {
      clock = new ShiftedClock();
    });

    afterAll(() => clock.remove());

    beforeEach(async () => {
      hand = clock.hand('master');
      server = await stage.server(['--repl-diskless-sync-delay', '0'], hand.env);
      admin = stage.admin(server);
    });

    /** Moves the clock, and makes sure that the server has noticed. */
    async function jump(shiftMs: number): Promise<void> {
      hand.setMs(shiftMs);
      await expectTimeOff(admin, shiftMs);
    }

    it('may jump an hour ahead: everybody gets one refill, once', async () => {
      const { limiter, lines } = await stage.app(server.url, PATIENT);
      const outcome = await playUnderLoad(limiter, {
        name: 'of Redis jumps an hour ahead',
        strike: async (load) => {
          await jump(HOUR_MS);
          load.forget();
        },
      });
      expectAllDecided(outcome);
      expect(lines).toEqual([]);
      report(outcome.row);
    });

    it('may jump an hour back: nobody gets anything for it, and nobody is locked out', async () => {
      const { limiter, lines } = await stage.app(server.url, PATIENT);
      let before = 0;
      const outcome = await playUnderLoad(limiter, {
        name: 'of Redis jumps an hour back',
        strike: async (load) => {
          await jump(-HOUR_MS);
          before = tightAdmissions(load.admitted('tight'));
        },
        heal: (load) => {
          // Four keys at 50 a second, for a third of a second; half of that leaves room for a slow machine.
          expect(tightAdmissions(load.admitted('tight')) - before).toBeGreaterThan(30);
          return Promise.resolve();
        },
      });
      expectAllDecided(outcome);
      expect(lines).toEqual([]);
      report(outcome.row);
    });

    it.each([
      ['bucket', 500],
      ['window', 1_000],
    ] as const)('restores a %s no sooner and no later for going back', async (plan, fullMs) => {
      // A denial that is remembered would hide from Redis that its clock has moved.
      const { limiter } = await stage.app(server.url, {
        ...PATIENT,
        plans: PLANS,
        denyCache: false,
      });
      expect((await limiter.allow('ada', plan, 5)).allowed).toBe(true);
      for (const shiftMs of [-HOUR_MS, -2 * HOUR_MS, -3 * HOUR_MS]) {
        await jump(shiftMs);
        expect((await limiter.allow('ada', plan, 5)).allowed).toBe(false);
      }
      const { retryAfterMs } = await limiter.peek('ada', plan, 5);
      expect(retryAfterMs).toBeGreaterThan(fullMs / 2);
      expect(retryAfterMs).toBeLessThanOrEqual(fullMs);
      // A timer may be a little early.
      await pause(retryAfterMs! + 2);
      expect((await limiter.allow('ada', plan, 5)).allowed).toBe(true);
    });

    it.each([
      ['behind', -HOUR_MS],
      ['ahead of', HOUR_MS],
    ])('may be an hour %s that of the replica that takes over', async (where, shiftMs) => {
      const otherHand = clock.hand('replica');
      otherHand.setMs(-shiftMs);
      const replica = await stage.server(
        ['--replicaof', '127.0.0.1', String(server.port)],
        otherHand.env,
      );
      const replicaAdmin = stage.admin(replica);
      await until('the replica', async () =>
        (await replicaAdmin.info()).includes('link_status:up'),
      );
      const proxy = await TcpProxy.to(server);
      const { limiter } = await stage.app(proxy.url);
      const outcome = await playUnderLoad(limiter, {
        name: `of Redis is an hour ${where} that of the replica that takes over, as planned`,
        strike: async (load) => {
          // A planned failover: nothing that was counted is lost on the way.
          await admin.call('CLIENT', 'PAUSE', 60_000, 'WRITE');
          await admin.wait(1, 1_000);
          await replicaAdmin.replicaof('NO', 'ONE');
          await expectTimeOff(replicaAdmin, -shiftMs);
          if (shiftMs < 0) load.forget();
          proxy.leadTo(replica);
        },
        lastsMs: 0,
      });
      await proxy.close();
      expectHarmless(outcome);
      report(outcome.row);
    });
  });

  describe('the clock of the application', () => {
    afterEach(() => {
      jest.restoreAllMocks();
    });

    it('has no say: only Redis tells the time', async () => {
      const server = await stage.server();
      const { limiter } = await stage.app(server.url, PATIENT);
      const now = Date.now.bind(Date);
      const outcome = await playUnderLoad(limiter, {
        name: 'of the application jumps an hour to and fro',
        strike: async () => {
          for (const shiftMs of [HOUR_MS, -HOUR_MS, 24 * HOUR_MS]) {
            jest.spyOn(Date, 'now').mockImplementation(() => now() + shiftMs);
            await pause(100);
          }
        },
        heal: () => Promise.resolve(void jest.restoreAllMocks()),
        lastsMs: 0,
      });
      expectAllDecided(outcome);
      report(outcome.row);
    });
  });

  function tightAdmissions(admitted: Map<string, number>): number {
    return [...admitted.values()].reduce((sum, count) => sum + count, 0);
  }

  async function expectTimeOff(admin: Redis, shiftMs: number): Promise<void> {
    const [seconds] = await admin.time();
    expect(Math.abs(Number(seconds) * 1_000 - Date.now() - shiftMs)).toBeLessThan(60_000);
  }
});
