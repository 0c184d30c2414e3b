// An HTTP application to be attacked, in a process of its own. Started by `startApp`, with
// { limit: options of the module, computeMs: how long each handler keeps the process busy }.
import 'reflect-metadata';
import { subscribe } from 'node:diagnostics_channel';
import { setInterval } from 'node:timers';
import { Controller, Get, Module, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const { lib, options } = JSON.parse(process.argv[2]);
const { RateLimit, RateLimitModule, RateLimitStats } = await import(lib);
const { limit, computeMs = 0 } = options;

const lines = [];
let handled = 0;
/** Requests that came to the handler later than the deadline. */
let late = 0;
let longestWaitMs = 0;
let sharedAgainAtMs = 0;
let lagMs = 0;

subscribe('nestjs-floodgate:store', (message) => {
  if (message.event === 'up') sharedAgainAtMs = Date.now();
});

let tickMs = performance.now();
setInterval(() => {
  const nowMs = performance.now();
  lagMs = Math.max(lagMs, nowMs - tickMs - 10);
  tickMs = nowMs;
}, 10);

function compute(milliseconds) {
  const untilMs = performance.now() + milliseconds;
  while (performance.now() < untilMs);
}

class AppController {
  answer({ arrivedMs }) {
    const waitMs = performance.now() - arrivedMs;
    handled++;
    longestWaitMs = Math.max(longestWaitMs, waitMs);
    if (waitMs > 50) late++;
    compute(computeMs);
    return 'ok';
  }
}
const descriptor = Object.getOwnPropertyDescriptor(AppController.prototype, 'answer');
Get()(AppController.prototype, 'answer', descriptor);
Req()(AppController.prototype, 'answer', 0);
RateLimit({ plan: 'all', key: () => 'everybody', phase: 'guard' })(
  AppController.prototype,
  'answer',
  descriptor,
);
RateLimit({ plan: 'each', key: 'header:x-client' })(AppController.prototype, 'answer', descriptor);
Controller()(AppController);

class AppModule {}
Module({ imports: [RateLimitModule.forRoot(limit)], controllers: [AppController] })(AppModule);

const keep = (line, context) => {
  if (context === 'RateLimit' && /shared/.test(line)) lines.push(line);
};
const logger = { log: keep, warn: keep, error: keep };
const app = await NestFactory.create(AppModule, { logger });
app.use((request, _, next) => {
  request.arrivedMs = performance.now();
  next();
});
await app.listen(0, '127.0.0.1');

const actions = {
  port: () => app.getHttpServer().address().port,
  compute: ([milliseconds]) => compute(milliseconds),
  forget: () => (lagMs = longestWaitMs = late = handled = 0),
  report: () => {
    const { failedOpen } = app.get(RateLimitStats).snapshot().totals;
    return { handled, late, failedOpen, longestWaitMs, lagMs, sharedAgainAtMs, lines };
  },
};

process.on('message', ({ id, method, args }) => {
  process.send({ id, answer: actions[method](args) });
});
process.on('disconnect', () => process.exit());
process.send({ id: 0, answer: 'ready' });
