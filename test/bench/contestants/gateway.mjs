// The eight limits of a gateway on one Redis, and the chain of two plans that they are compared with:
// gateway.mjs <contestant> <url>
import { Redis } from 'ioredis';
import { GatewayLimiter, RateLimiter } from 'nestjs-floodgate';
import { boot, TWO_PLANS } from './application.mjs';
import { CALLERS, scattered, serveCallers } from './callers.mjs';
import { enter, GATEWAY } from './gateway-limits.mjs';

const [, , contestant, url] = process.argv;
const KEYS = 10_000;

const app = await boot({ redis: url, plans: TWO_PLANS, gateway: GATEWAY });
const limiter = app.get(RateLimiter);
const gateway = app.get(GatewayLimiter);

let sent = 0;
const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function (...args) {
  sent++;
  return sendCommand.apply(this, args);
};

/** Connections that are open until they are tidied up. */
let open = [];

async function closeAll() {
  const closing = open;
  open = [];
  while (closing.length > 0) {
    await Promise.all(closing.splice(-CALLERS).map((answer) => answer.release()));
  }
}

const chain = Object.keys(TWO_PLANS);

const contestants = {
  async 'two plans'(turn) {
    const { reason } = await limiter.allow(`user-${scattered(turn, KEYS)}`, chain, 1);
    if (reason !== 'ALLOWED') throw new Error(`${reason} instead of ALLOWED`);
  },
  async 'eight limits'(turn) {
    open.push(await enter(gateway, turn));
  },
  async 'eight limits, released'(turn) {
    await (await enter(gateway, turn)).release();
  },
};

const [name, callers] = contestant.split(' by ');
serveCallers(contestants[name], {
  callers: callers === 'one' ? 1 : CALLERS,
  commandsSent: () => sent,
  tidyUp: closeAll,
});
