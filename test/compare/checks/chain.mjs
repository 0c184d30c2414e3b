// Two limits: one has plenty, the other admits one request. What do nine denials cost the first?
import { answersOf, throttlerApp } from '../application.mjs';
import { Bottleneck, embedded, flexible } from '../products.mjs';

const [PLENTY, REQUESTS, ADMITTED] = [100, 10, 1];
const DENIED = REQUESTS - ADMITTED;

export const chain = {
  async floodgate() {
    const { limiter } = embedded({ plenty: `${PLENTY}/day`, narrow: '1/day' });
    for (let i = 0; i < REQUESTS; i++) await limiter.allow('ada', ['plenty', 'narrow']);
    const { remainingTokens } = await limiter.peek('ada', 'plenty');
    return verdict(PLENTY - remainingTokens);
  },
  async throttler() {
    const app = await throttlerApp([
      { name: 'plenty', ttl: 60_000, limit: PLENTY },
      { name: 'narrow', ttl: 86_400_000, limit: ADMITTED },
    ]);
    const answers = await answersOf(app, REQUESTS);
    return verdict(PLENTY - Number(answers.at(-1).headers.get('x-ratelimit-remaining-plenty')));
  },
  async flexible() {
    const { RateLimiterMemory, RateLimiterUnion } = flexible;
    const limiterOf = (points) =>
      new RateLimiterMemory({ points, duration: 60, keyPrefix: String(points) });
    const plenty = limiterOf(PLENTY);
    const union = new RateLimiterUnion(plenty, limiterOf(ADMITTED));
    for (let i = 0; i < REQUESTS; i++) await union.consume('ada').catch(() => undefined);
    return verdict((await plenty.get('ada')).consumedPoints);
  },
  async bottleneck() {
    const plenty = new Bottleneck({ reservoir: PLENTY });
    const strategy = Bottleneck.strategy.OVERFLOW;
    const narrow = new Bottleneck({ reservoir: ADMITTED, highWater: 0, strategy });
    plenty.chain(narrow);
    for (let i = 0; i < REQUESTS; i++) await plenty.schedule(async () => {}).catch(() => undefined);
    return verdict(PLENTY - (await plenty.currentReservoir()));
  },
};

function verdict(charged) {
  const denials = charged - ADMITTED;
  return denials === 0 ? 'yes' : `no: ${denials} of ${DENIED} denials were charged`;
}
