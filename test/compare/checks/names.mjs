// What becomes of a limit that a route names and nobody has defined.
import { answersOf, floodgateApp, throttlerApp } from '../application.mjs';
import { throttler } from '../products.mjs';

export const names = {
  async floodgate() {
    const error = await floodgateApp({ strict: '1/minute' }, 'strikt').catch((reason) => reason);
    return error.code === 'UNKNOWN_PLAN' ? 'an error at start' : 'no error';
  },
  async throttler() {
    const decorate = throttler.Throttle({ strikt: { limit: 1, ttl: 60_000 } });
    const app = await throttlerApp([{ name: 'strict', ttl: 60_000, limit: 100 }], decorate);
    const answers = await answersOf(app, 3);
    return answers.every(({ status }) => status === 200) ? 'is ignored' : 'is enforced';
  },
};
