// An application that calls others, in a process of its own: waits for turns as it is told by messages,
// and notes when they came. Started by callers.ts.
import 'reflect-metadata';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';

const { lib, options } = JSON.parse(process.argv[2]);
const { AdaptiveThrottler, OutboundLimiter, RateLimitModule } = await import(lib);

const root = { module: class AppModule {}, imports: [RateLimitModule.forRoot(options)] };
let rulesRead = 0;
const logger = {
  log: (line) => (rulesRead += Number(String(line).startsWith('Outbound rules were read again'))),
  warn: () => undefined,
  error: () => undefined,
};
const app = await NestFactory.createApplicationContext(root, { logger });
const limiter = app.get(OutboundLimiter);
const throttler = app.get(AdaptiveThrottler);

const cooldowns = [];
throttler.events.on('cooldown', ({ cooldownMs }) => cooldowns.push(cooldownMs));

const LAG_RESOLUTION_MS = 2;
const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
lag.enable();

/** By a clock that all processes of this machine share. */
function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A signal that is aborted at some time, for those who lose patience. */
function patience({ abortShare = 0, abortWithinMs = 0 }) {
  if (Math.random() >= abortShare) return undefined;
  const aborting = new globalThis.AbortController();
  setTimeout(() => aborting.abort(), Math.random() * abortWithinMs);
  return aborting.signal;
}

/** Waits once, makes a call of some length, and tells what became of it. */
async function callOnce(task, index) {
  const { domain, tokens = [1], timeoutMs, holdMs = 0 } = task;
  const cost = tokens[index % tokens.length];
  const outcome = { index, tokens: cost, error: null, isProbe: false, waitedMs: 0 };
  try {
    const permit = await limiter.wait(domain, { tokens: cost, timeoutMs, signal: patience(task) });
    const { isProbe, waitedMs } = permit;
    const atMs = nowMs();
    if (holdMs > 0) await pause(holdMs);
    if (isProbe) await throttler.recordSuccess(domain, { permit });
    await permit.release();
    return { ...outcome, atMs, isProbe, waitedMs };
  } catch (error) {
    return { ...outcome, atMs: nowMs(), error: error.name };
  }
}

const actions = {
  /** All at once, at a moment that is the same for all processes; answers when all are through. */
  async call(task) {
    await pause(Math.max(0, task.startMs - nowMs()));
    lag.reset();
    const calls = Array.from({ length: task.calls }, (_, index) => callOnce(task, index));
    const outcomes = await Promise.all(calls);
    return { outcomes, lagMs: Math.max(0, lag.max / 1e6 - LAG_RESOLUTION_MS) };
  },
  reportBlocks(domain, times) {
    const reports = Array.from({ length: times }, () =>
      throttler.recordBlock(domain, 'rate_limited'),
    );
    return Promise.all(reports);
  },
  cooldowns: () => cooldowns,
  rulesRead: () => rulesRead,
  throttleStats: (domain) => throttler.stats(domain),
  waiting: (domain) => limiter.waiting(domain).count,
};

process.on('message', async ({ id, method, args }) => {
  try {
    process.send({ id, answer: await actions[method](...args) });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ id: 0, answer: 'ready' });
