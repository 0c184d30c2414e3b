// One of several processes that ask the limiter as fast as they can. Started by flooders.ts.
import 'reflect-metadata';
import { setImmediate } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

const { lib, options } = JSON.parse(process.argv[2]);
const { RateLimitModule, RateLimiter } = await import(lib);

const root = { module: class AppModule {}, imports: [RateLimitModule.forRoot(options)] };
const app = await NestFactory.createApplicationContext(root, { logger: false });
const limiter = app.get(RateLimiter);
const clock = new Redis(options.redis);

/** So many denials of each request, one after the other, say that nothing is left. */
const DENIALS = 10;

/** The time by which Redis decides, in microseconds. */
async function timeUs() {
  const [seconds, microseconds] = await clock.time();
  return Number(seconds) * 1_000_000 + Number(microseconds);
}

async function flood({ requests, callers, milliseconds, untilDenied = false }) {
  const admitted = requests.map(() => 0);
  const answers = {};
  let asked = 0;
  let deniedInARow = 0;
  const mayEnd = () => !untilDenied || deniedInARow >= DENIALS * requests.length;
  const end = performance.now() + milliseconds;
  const ask = async () => {
    while (performance.now() < end || !mayEnd()) {
      const turn = asked++ % requests.length;
      const { key, plans, tokens } = requests[turn];
      const { allowed, reason } = await limiter.allow(key, plans, tokens);
      answers[reason] = (answers[reason] ?? 0) + 1;
      deniedInARow = allowed ? 0 : deniedInARow + 1;
      if (allowed) admitted[turn] += tokens;
      // A denial that is known here needs no input or output: the loop would let in nothing else.
      else await setImmediate();
    }
  };
  const fromUs = await timeUs();
  await Promise.all(Array.from({ length: callers }, ask));
  return { admitted, answers, fromUs, toUs: await timeUs() };
}

process.on('message', async (task) => process.send(await flood(task)));
process.on('disconnect', () => process.exit());
await flood({
  requests: [{ key: 'warm', plans: Object.keys(options.plans), tokens: 1 }],
  callers: 4,
  milliseconds: 50,
});
process.send('ready');
