// A limit of ten in ten seconds: the most that passes within any ten seconds, by the worst of some
// ways to ask.
import { mock } from 'node:test';
import { compileLib } from '../../support/compiled-lib.mjs';
import { embedded, flexible, throttler } from '../products.mjs';

const [LIMIT, WINDOW_MS, STEP_MS, END_MS] = [10, 10_000, 100, 40_000];
const { TestClock } = await import(new URL('testing/index.js', compileLib()).href);

/** How many ask at that time: everybody from the start; or one, and everybody at the window's edge. */
const WAYS = [() => Infinity, (ms) => (ms === 0 ? 1 : ms < WINDOW_MS - STEP_MS ? 0 : Infinity)];

export const window = {
  async floodgate() {
    const bucket = await worst(() => ours('10/10s'));
    const sliding = await worst(() => ours({ limit: LIMIT, windowMs: WINDOW_MS }));
    return `${bucket} (bucket), ${sliding} (window)`;
  },
  throttler: () =>
    worst(() => {
      const storage = new throttler.ThrottlerStorageService();
      const ask = async () => !(await storage.increment('ada', WINDOW_MS, LIMIT, 0, 'w')).isBlocked;
      return { ask, advance, end: () => storage.onApplicationShutdown() };
    }),
  flexible: () =>
    worst(() => {
      const limiter = new flexible.RateLimiterMemory({ points: LIMIT, duration: 10 });
      const ask = () => limiter.consume('ada').then(Boolean, () => false);
      return { ask, advance };
    }),
};

function ours(plan) {
  const clock = new TestClock();
  const { limiter } = embedded({ plan }, clock);
  const ask = async () => (await limiter.allow('ada', 'plan')).allowed;
  return { ask, advance: () => clock.advance(STEP_MS) };
}

function advance() {
  mock.timers.tick(STEP_MS);
}

async function worst(create) {
  const most = [];
  for (const askersAt of WAYS) most.push(mostWithinWindow(await admitted(create, askersAt)));
  return String(Math.max(...most));
}

/** The times at which a request passed. */
async function admitted(create, askersAt) {
  mock.timers.enable({ apis: ['Date', 'setTimeout', 'setInterval'], now: Date.now() });
  const { ask, advance: moveOn, end } = create();
  const times = [];
  for (let ms = 0; ms < END_MS; ms += STEP_MS) {
    for (let asked = 0; asked < askersAt(ms) && (await ask()); asked++) times.push(ms);
    moveOn();
  }
  end?.();
  mock.timers.reset();
  return times;
}

function mostWithinWindow(times) {
  const countFrom = (start) => times.filter((at) => at >= start && at < start + WINDOW_MS).length;
  return Math.max(...times.map(countFrom));
}
