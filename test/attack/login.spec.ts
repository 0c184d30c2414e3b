import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Controller, Injectable, Post, UnauthorizedException, UseGuards } from '@nestjs/common';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import type { HttpApp, RequestOptions } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

const ATTEMPTS = 200;
/** As many as tell that it is a limit, where there are many ways to try. */
const FEW = 40;
const PER_ADDRESS = 20;
const PER_ACCOUNT = 5;

/** Passwords that somebody has looked at. */
let tried: unknown[];

/** Checks passwords before any interceptor runs, and takes accounts as loosely as code often does. */
@Injectable()
class PasswordGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { body } = context.switchToHttp().getRequest<{ body?: Record<string, unknown> }>();
    tried.push(body?.['email']);
    if (body?.['password'] !== 'open sesame') throw new UnauthorizedException();
    return true;
  }
}

@Controller()
class LoginController {
  @Post('login')
  @UseGuards(PasswordGuard)
  @RateLimit({
    plan: [
      { plan: 'address', key: 'ip' },
      { plan: 'account', key: 'body:email:lower' },
    ],
    refundOn: ({ statusCode }) => statusCode < 400,
  })
  login(): void {}
}

const json = (body: unknown): RequestOptions => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

const form = (body: string): RequestOptions => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  body,
});

/** The same from the n-th client behind the proxy. */
const through = (n: number, options: RequestOptions): RequestOptions => ({
  ...options,
  headers: { ...options.headers, 'X-Forwarded-For': `203.0.${n >> 8}.${n & 255}` },
});

const guess = (email: unknown, i = 0) => json({ email, password: `guess ${i}` });

/** How many requests had which status. */
async function tally(app: HttpApp, requests: readonly RequestOptions[]) {
  const seen: Record<number, number> = {};
  for (const request of requests) {
    const { status } = await app.get('/login', request);
    seen[status] = (seen[status] ?? 0) + 1;
  }
  return seen;
}

const attempts = (count: number, make: (i: number) => RequestOptions) =>
  Array.from({ length: count }, (_, i) => make(i));

const refusedAfter = (passed: number, count: number) => ({ 401: passed, 429: count - passed });

beforeEach(() => {
  tried = [];
});

afterEach(closeApps);

describe.each(adapters)('passwords tried at a login on %s', (adapter) => {
  let app: HttpApp;

  beforeEach(async () => {
    const plans = {
      address: { capacity: PER_ADDRESS, tokensPerSecond: 1 / 60 },
      account: { capacity: PER_ACCOUNT, tokensPerSecond: 1 / 600 },
    };
    const limits = RateLimitModule.forRoot({ plans, clock: new FakeClock() });
    app = await startApp(
      adapter,
      { imports: [limits], controllers: [LoginController] },
      { trustProxy: '127.0.0.1' },
    );
  });

  it('by one address for one account are limited by account', async () => {
    const requests = attempts(ATTEMPTS, (i) => guess('ada@example.com', i));
    expect(await tally(app, requests)).toEqual(refusedAfter(PER_ACCOUNT, ATTEMPTS));
    expect(tried).toHaveLength(PER_ACCOUNT);
  });

  it('by one address for many accounts are limited by address', async () => {
    const requests = attempts(ATTEMPTS, (i) => guess(`user${i}@example.com`, i));
    expect(await tally(app, requests)).toEqual(refusedAfter(PER_ADDRESS, ATTEMPTS));
    expect(tried).toHaveLength(PER_ADDRESS);
  });

  it('by many addresses for one account are limited by account', async () => {
    const requests = attempts(ATTEMPTS, (i) => through(i, guess('ada@example.com', i)));
    expect(await tally(app, requests)).toEqual(refusedAfter(PER_ACCOUNT, ATTEMPTS));
    expect(tried).toHaveLength(PER_ACCOUNT);
  });

  it.each<[string, (i: number) => unknown]>([
    ['cases', (i) => [...'ada@x.org'].map((c, n) => ((i >> n) & 1 ? c.toUpperCase() : c)).join('')],
    ['spaces', (i) => ' '.repeat(i) + 'ada@x.org\t'],
    ['widths', (i) => (i % 2 ? '\uff41da@x.org' : 'ADA@x.org')],
    ['lists of one', (i) => (i % 2 ? ['ada@x.org'] : [[['Ada@x.org']]])],
  ])('by many addresses for one account in many %s are limited by account', async (_, email) => {
    const requests = attempts(FEW, (i) => through(i, guess(email(i), i)));
    expect(await tally(app, requests)).toEqual(refusedAfter(PER_ACCOUNT, FEW));
    expect(tried).toHaveLength(PER_ACCOUNT);
  });

  const odd = [{}, [], { email: [] }, { email: { a: 1 } }, { email: ['a', 'b'] }, { email: false }];

  it.each<[string, (i: number) => RequestOptions]>([
    ['no field', (i) => json({ password: `guess ${i}` })],
    ['no body', () => ({ method: 'POST' })],
    ['an empty object', () => json({})],
    ['an empty field', (i) => guess(' '.repeat(i), i)],
    ['null', (i) => guess(null, i)],
    ['several accounts', (i) => guess(['ada@example.com', `${i}@example.com`], i)],
    ['an object', (i) => guess({ $gt: '', [`k${i}`]: i }, i)],
    ['true or false', (i) => guess(i % 2 === 0, i)],
    ['a list in the place of the body', (i) => json([{ email: `${i}@example.com` }])],
    ['a name of 600 characters', (i) => guess(`${i}`.padEnd(600, 'x'), i)],
    ['another of these each time', (i) => json(odd[i % odd.length])],
    ['a form with the field twice', (i) => form(`email=ada%40x.org&email=${i}&password=guess`)],
    ['a form of objects', (i) => form(`email[k${i}]=ada%40x.org&password=guess`)],
  ])('with %s are limited by address', async (_, request) => {
    expect(await tally(app, attempts(FEW, request))).toEqual(refusedAfter(PER_ACCOUNT, FEW));
    expect(tried).toHaveLength(PER_ACCOUNT);
  });

  it('with an account in a prototype are limited by address, or not read at all', async () => {
    const requests = attempts(FEW, (i) => ({
      ...json({}),
      body: `{"__proto__":{"email":"${i}@x.org"},"constructor":{"prototype":{"email":"x"}}}`,
    }));
    const limited = refusedAfter(PER_ACCOUNT, FEW);
    expect(await tally(app, requests)).toEqual(adapter === 'fastify' ? { 400: FEW } : limited);
    expect(({} as Record<string, unknown>)['email']).toBeUndefined();
  });

  it('do not block the process with names that are slow to normalize', async () => {
    const marks = 'a' + '\u0345'.repeat(15_000) + '\u0334'.repeat(15_000);
    const began = performance.now();
    const requests = attempts(10, (i) => guess(marks, i));
    expect(await tally(app, requests)).toEqual(refusedAfter(PER_ACCOUNT, 10));
    // Normalized, each would take half a second.
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it('cost those nothing who know theirs', async () => {
    const known = json({ email: 'Ada@example.com', password: 'open sesame' });
    expect(await tally(app, Array<RequestOptions>(30).fill(known))).toEqual({ 201: 30 });
    const requests = attempts(PER_ACCOUNT + 1, (i) => guess('bob@x.org', i));
    expect(await tally(app, requests)).toEqual({ 401: PER_ACCOUNT, 429: 1 });
    expect(await tally(app, [known])).toEqual({ 201: 1 });
  });

  it('in forms are limited by account', async () => {
    const emails = ['ADA%40x.org', '+ada%40x.org', 'ada%40x.org', '%61da@x.org'];
    const requests = attempts(FEW, (i) =>
      through(i, form(`email=${emails[i % emails.length]}&password=guess`)),
    );
    expect(await tally(app, requests)).toEqual(refusedAfter(PER_ACCOUNT, FEW));
  });
});
