import 'reflect-metadata';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { Controller, Get, Module, Req } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { NEVER } from 'rxjs';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RateLimiter } from '../../lib/index.js';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { until } from '../support/redis-servers.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { faultReport } from './fault-report.js';
import type { Server } from './stage.js';
import { PATIENT, Stage } from './stage.js';

/** An application in a process of its own. */
interface AppProcess {
  call(method: string, ...args: unknown[]): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  end(): Promise<void>;
}

interface HeldInProcess {
  readonly id: number;
  readonly allowed: boolean;
}

const APP_PROCESSES: string = '../support/app-processes.mjs';
const { startApp } = (await import(APP_PROCESSES)) as {
  startApp: (options: object) => Promise<AppProcess>;
};

const report = faultReport('leases');
/** Long enough that a holder on a busy machine is in time to renew it. */
const LEASE_MS = 1_500;
const PLANS = {
  pair: { maxConcurrent: 2, leaseMs: LEASE_MS },
  single: { maxConcurrent: 1, leaseMs: LEASE_MS },
} as const;

describeWithServers('native server', 'a slot on Redis', () => {
  let stage: Stage;
  let server: Server;
  let admin: Redis;
  let limiter: RateLimiter;
  let processes: AppProcess[];

  beforeEach(async () => {
    stage = new Stage();
    server = await stage.server();
    admin = stage.admin(server);
    ({ limiter } = await stage.app(server.url, { ...PATIENT, plans: PLANS }));
    processes = [];
  });

  afterEach(async () => {
    await expectAllKeysExpire(admin);
    for (const process of processes) await process.end();
    await stage.end();
  });

  async function holder(): Promise<AppProcess> {
    const process = await startApp({ ...PATIENT, redis: server.url, plans: PLANS });
    processes.push(process);
    return process;
  }

  const acquireIn = async (process: AppProcess, plan: keyof typeof PLANS) =>
    (await process.call('acquire', 'ada', plan)) as HeldInProcess;

  it('comes back when its lease ends after its holder was killed, and not before', async () => {
    const process = await holder();
    expect(await acquireIn(process, 'pair')).toMatchObject({ allowed: true });
    expect(await acquireIn(process, 'pair')).toMatchObject({ allowed: true });
    // Longer than a lease: a holder that lives keeps it.
    const heldUntilMs = performance.now() + LEASE_MS * 1.5;
    await until('the leases to be renewed', () => performance.now() > heldUntilMs);
    expect((await limiter.acquire('ada', 'pair')).allowed).toBe(false);
    process.kill('SIGKILL');
    await process.end();
    const killedMs = performance.now();
    const { allowed, retryAfterMs } = await limiter.acquire('ada', 'pair');
    expect(allowed).toBe(false);
    expect(retryAfterMs).toBeLessThanOrEqual(LEASE_MS);
    const { freeMs, longestWaitMs } = await untilAcquired(limiter, 'pair');
    expect(freeMs - killedMs).toBeGreaterThanOrEqual(retryAfterMs! - 5);
    expect(freeMs - killedMs).toBeLessThan(LEASE_MS + 500);
    const held = await admin.zcard('rate_limiter:pair:{ada}:leases');
    expect(held).toBeLessThanOrEqual(PLANS.pair.maxConcurrent);
    report({
      fault: `holder is killed (leases of ${LEASE_MS} ms)`,
      longestWaitMs,
      errors: 0,
      recoveryMs: freeMs - killedMs,
      overAdmission: Math.max(0, held - PLANS.pair.maxConcurrent),
    });
  });

  it('that a frozen holder has lost is not given back by it when it wakes up', async () => {
    const process = await holder();
    const { id } = await acquireIn(process, 'single');
    process.kill('SIGSTOP');
    await untilAcquired(limiter, 'single');
    process.kill('SIGCONT');
    await until('the holder to notice', async () => !(await process.call('isHeld', id)));
    expect(await process.call('renew', id)).toBe(false);
    await process.call('release', id);
    // It may take its own connection for dead first: nothing came while it was frozen.
    await until('the holder to be back', async () => {
      const { reason } = (await process.call('allow', 'back', '1000/s')) as { reason: string };
      return reason === 'ALLOWED';
    });
    expect(await acquireIn(process, 'single')).toMatchObject({ allowed: false });
    expect((await limiter.acquire('ada', 'single')).allowed).toBe(false);
  });

  it('that Redis has forgotten can be taken, and its old holder gives back nothing', async () => {
    const old = await limiter.acquire('ada', 'single');
    await admin.flushall();
    const next = await limiter.acquire('ada', 'single');
    expect(next.allowed).toBe(true);
    await old.release();
    expect((await limiter.acquire('ada', 'single')).allowed).toBe(false);
    expect(await next.renew()).toBe(true);
  });

  describe('of a request', () => {
    let app: INestApplication;
    let port: number;

    beforeEach(async () => {
      app = await NestFactory.create(
        {
          module: HttpModule,
          imports: [RateLimitModule.forRoot({ ...PATIENT, redis: server.url, plans: PLANS })],
        },
        { logger: false },
      );
      await app.listen(0, '127.0.0.1');
      port = Number(new URL(await app.getUrl()).port);
    });

    afterEach(async () => {
      await expectAllKeysExpire(admin);
      await app.close();
      // What was held is given back with the application, and the next look needs something to see.
      await admin.set('seen', 'so', 'EX', 60);
    });

    it.each(['ends', 'fails', 'is left by its client'] as const)(
      'is given back when the request %s, and that of the next one is not',
      async (how) => {
        const path = { ends: '/end', fails: '/fail', 'is left by its client': '/leave' }[how];
        const asked = request({ port, path, host: '127.0.0.1' }).end();
        asked.on('error', () => undefined);
        if (how === 'is left by its client') {
          await until('the slot to be taken', async () => (await slotsFree(admin)) === 0);
          asked.destroy();
        } else await once(asked, 'response');
        await until('the slot to be free', async () => (await slotsFree(admin)) === 1);
        const staying = request({ port, path: '/stay', host: '127.0.0.1' }).end();
        staying.on('error', () => undefined);
        await until('the slot to be taken', async () => (await slotsFree(admin)) === 0);
        expect(await statusOf(port, '/end')).toBe(429);
        staying.destroy();
      },
    );
  });
});

@Controller()
class HttpController {
  @Get('end')
  @RateLimit({ plan: 'single', key: 'all' })
  end() {}

  @Get('fail')
  @RateLimit({ plan: 'single', key: 'all' })
  fail() {
    throw new Error('as planned');
  }

  /** Works until its client is gone. */
  @Get('leave')
  @RateLimit({ plan: 'single', key: 'all' })
  async leave(@Req() request: IncomingMessage) {
    await once(request.socket, 'close');
  }

  @Get('stay')
  @RateLimit({ plan: 'single', key: 'all' })
  stay() {
    // Ends when its client leaves, as a promise that works on does not.
    return NEVER;
  }
}

@Module({ controllers: [HttpController] })
class HttpModule {}

async function slotsFree(admin: Redis): Promise<number> {
  const [key] = await admin.keys('*single*');
  return key ? 1 - (await admin.zcard(key)) : 1;
}

async function statusOf(port: number, path: string): Promise<number> {
  const { status } = await fetch(`http://127.0.0.1:${port}${path}`);
  return status;
}

/** Tries until there is a slot: when there was, and the longest that a try took. */
async function untilAcquired(limiter: RateLimiter, plan: keyof typeof PLANS) {
  let longestWaitMs = 0;
  await until('a slot', async () => {
    const beforeMs = performance.now();
    const { allowed } = await limiter.acquire('ada', plan);
    longestWaitMs = Math.max(longestWaitMs, performance.now() - beforeMs);
    return allowed;
  });
  return { freeMs: performance.now(), longestWaitMs };
}
