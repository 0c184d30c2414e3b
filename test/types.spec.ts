import { describe, expect, it } from '@jest/globals';
import { parseRate } from '../lib/core/rate.js';
import type { Complaint } from './support/compile.js';
import { compile } from './support/compile.js';

/** Compiling everything that the package imports takes its time on a busy machine. */
const TIMEOUT_MS = 120_000;

const REGISTRATION = `
  import { definePlans } from 'nestjs-floodgate';
  export const plans = definePlans({
    gold: { capacity: 100, tokensPerSecond: 10 },
    daily: { limit: 10_000, windowMs: 86_400_000 },
    login: '5/minute',
  });
  declare module 'nestjs-floodgate' {
    interface Register {
      plans: typeof plans;
    }
  }
`;

const IMPORTS = `import { RateLimit, RateLimiter } from 'nestjs-floodgate';
  declare const limiter: RateLimiter;
`;

/** Every place that takes the name of a plan. */
const placesOf = (plan: string) => [
  `export const argument = RateLimit('${plan}');`,
  `export const list = RateLimit(['gold', '${plan}']);`,
  `export const field = RateLimit({ plan: '${plan}' });`,
  `export const links = RateLimit({ plan: [{ plan: '${plan}', key: 'all' }] });`,
  `export const chosen = RateLimit({ plan: () => '${plan}' });`,
  `export const allowed = limiter.allow('ada', '${plan}');`,
  `export const chain = limiter.peek('ada', ['gold', { plan: '${plan}', tokens: 2 }]);`,
  `export const lease = limiter.acquire('ada', '${plan}');`,
  `export const turn = limiter.reserve('ada', '${plan}', { maxWaitMs: 10 });`,
  `export const refunded = limiter.refund('ada', '${plan}');`,
  `export const forgotten = limiter.reset('ada', '${plan}');`,
];

const programOf = (lines: readonly string[]) => IMPORTS + lines.join('\n');
const linesOf = (complaints: readonly Complaint[]) => complaints.map(({ line }) => line);

describe('plan names', () => {
  it(
    'may be any string while none are registered',
    () => {
      const names = ['gold', 'anything', '5 per second'];
      const bare = `${IMPORTS} export const bare = [RateLimit(), RateLimit({})];`;
      expect(compile(bare, ...names.map((name) => programOf(placesOf(name))))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'are those that were registered, default and rates',
    () => {
      const known = ['gold', 'daily', 'login', 'default', '5/10s', '100/minute'];
      const right = known.map((name) => programOf(placesOf(name)));
      expect(compile(REGISTRATION, ...right)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it.each(['gld', '5 per second', 'Gold', ''])(
    'do not compile when misspelt: %j',
    (name) => {
      const complaints = compile(REGISTRATION, programOf(placesOf(name)));
      expect(linesOf(complaints)).toEqual(placesOf(name));
      for (const { code, message } of complaints) {
        expect([2322, 2345, 2820]).toContain(code);
        expect(message).toContain(`"${name}"`);
      }
    },
    TIMEOUT_MS,
  );

  it(
    'suggest the one that was probably meant',
    () => {
      const program = programOf([`export const field = RateLimit({ plan: 'gld' });`]);
      const [complaint] = compile(REGISTRATION, program);
      expect(complaint!.message).toContain(`Did you mean '"gold"'?`);
    },
    TIMEOUT_MS,
  );

  it(
    'may follow a pattern when they come from a database',
    () => {
      const registration = `
        import { definePlans, type PlanDefinition } from 'nestjs-floodgate';
        export const plans = definePlans({ gold: '100/minute' });
        declare module 'nestjs-floodgate' {
          interface Register {
            plans: typeof plans & Record<\`customer-\${string}\`, PlanDefinition>;
          }
        }
      `;
      const right = programOf(placesOf('customer-42'));
      const wrong = `export const wrong = RateLimit('customr-42');`;
      expect(linesOf(compile(registration, right, programOf([wrong])))).toEqual([wrong]);
    },
    TIMEOUT_MS,
  );
});

describe('plans that are defined', () => {
  it(
    'are accepted by the module as they are',
    () => {
      const program = `
        import { InMemoryPlanRegistry, RateLimitModule } from 'nestjs-floodgate';
        import { plans } from './program-0.js';
        export const module = RateLimitModule.forRoot({ plans });
        export const registry = new InMemoryPlanRegistry(plans);
        export const rate: '5/minute' = plans.login;
      `;
      expect(compile(REGISTRATION, program)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'do not compile when a field is missing, of another type, or a rate is malformed',
    () => {
      const lines = [
        `definePlans({ gold: { capacity: 100 } });`,
        `definePlans({ gold: { capacity: '100', tokensPerSecond: 1 } });`,
        `definePlans({ login: '5 per minute' });`,
        `definePlans({ login: 5 });`,
      ];
      const program = `import { definePlans } from 'nestjs-floodgate';\n${lines.join('\n')}`;
      expect(linesOf(compile(program))).toEqual(lines);
    },
    TIMEOUT_MS,
  );
});

describe('rates', () => {
  const RATES = [
    ...['100/minute', '5/10s', '1000 / 2 hours', '1/ms', '7/250ms', '3/s', '3/sec', '3/secs'],
    ...['3/second', '3/30 seconds', '3/m', '3/min', '3/5mins', '3/minutes', '3/h', '3/2hours'],
    ...['3/hour', '3/24h', '3/d', '3/day', '3/7days', '0/s', '-1/day', '999999999999999/s'],
    ...['', 'gold', 'gold/minute', '/minute', '100', '100/', '100/0s', '100/-1s', '100/1.5s'],
    ...['1.5/s', '1e3/s', '+5/s', 'NaN/s', 'Infinity/s', '100 per minute', '100/fortnight'],
    ...['100/week', '100/ss', '100/mss', '100/hs', '100/ds', '100/constructor', '100/minute/2'],
    ...['100//minute', '1 00/minute', '5/0x10s', '１/s'],
  ];
  const lineOf = (rate: string) => `rate('${rate}');`;
  const programWith = (rates: readonly string[]) =>
    `import type { Rate } from 'nestjs-floodgate';
     declare function rate(rate: Rate): void;
     ${rates.map(lineOf).join('\n')}`;

  it(
    'compile when they can be read, and only then',
    () => {
      const unreadable = RATES.filter((rate) => parseRate(rate) === undefined);
      expect(unreadable.length).toBeGreaterThan(20);
      expect(linesOf(compile(programWith(RATES)))).toEqual(unreadable.map(lineOf));
    },
    TIMEOUT_MS,
  );

  it(
    'compile when they are computed and said to be rates',
    () => {
      const program = `
        import { definePlans, type Rate } from 'nestjs-floodgate';
        const perMinute = Number(process.env['LOGINS']);
        export const plans = definePlans({ login: \`\${perMinute}/minute\` as Rate });
      `;
      expect(compile(program)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
