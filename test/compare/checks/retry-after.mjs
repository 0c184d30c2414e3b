// What a client that was denied by one of two named limits is told in `Retry-After`.
import { answersOf, floodgateApp, throttlerApp } from '../application.mjs';

export const retryAfter = {
  async floodgate() {
    return headerOf(
      await floodgateApp({ second: '100/second', day: '2/day' }, { plan: ['second', 'day'] }),
    );
  },
  async throttler() {
    return headerOf(
      await throttlerApp([
        { name: 'second', ttl: 1_000, limit: 100 },
        { name: 'day', ttl: 86_400_000, limit: 2 },
      ]),
    );
  },
};

async function headerOf(app) {
  const { headers, status } = (await answersOf(app, 3)).at(-1);
  if (status !== 429) throw new Error(`${status} instead of 429`);
  const names = [...headers.keys()].filter((name) => name.startsWith('retry-after'));
  if (names.includes('retry-after')) return 'yes';
  return `no, only ${names.map((name) => `\`${name}\``).join(', ')}`;
}
