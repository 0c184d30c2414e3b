// An application that waits for turns at one site, in a process of its own, to be killed or halted.
// Every permit is written to a file before anything else happens, so that none is lost with the process.
import 'reflect-metadata';
import { openSync, writeSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';

const { lib, options } = JSON.parse(process.argv[2]);
const { site, log, ...rest } = options;
const { OutboundLimiter, RateLimitModule } = await import(lib);

const root = { module: class AppModule {}, imports: [RateLimitModule.forRoot(rest)] };
// As Nest has it by default: without shutdown hooks.
const app = await NestFactory.createApplicationContext(root, { logger: false });
const limiter = app.get(OutboundLimiter);
const file = openSync(log, 'a');
let started = 0;

/** By a clock that all processes of this machine share. */
function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

async function callOnce() {
  const index = started++;
  try {
    const permit = await limiter.wait(site);
    writeSync(file, `${process.pid} ${index} ${nowMs()}\n`);
    await permit.release();
  } catch (error) {
    writeSync(file, `${process.pid} ${index} ${error.name}\n`);
  }
}

const actions = {
  pid: () => process.pid,
  /** Keeps so many waits going from now on; answers at once. */
  keepWaiting(calls) {
    const goOn = () => void callOnce().then(goOn);
    for (let i = 0; i < calls; i++) goOn();
  },
  waiting: () => limiter.waiting(site).count,
  async allow() {
    const { allowed, retryAfterMs, permit } = await limiter.allow(site);
    if (permit) writeSync(file, `${process.pid} -1 ${nowMs()}\n`);
    await permit?.release();
    return { allowed, retryAfterMs };
  },
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
