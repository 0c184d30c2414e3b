import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpModule, HttpService } from '@nestjs/axios';
import type { OnModuleInit } from '@nestjs/common';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { firstValueFrom } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { GateListener, GateWatch, Inquiry, RateLimitOptions } from '../../lib/index.js';
import {
  AdaptiveThrottler,
  LimitStore,
  MemoryStore,
  MonotonicClock,
  OutboundLimiter,
  RateLimit,
  RateLimitModule,
} from '../../lib/index.js';
import { limitAxios } from '../../lib/outbound/axios.js';
import type { HttpApp, StartOptions } from '../support/http-app.js';
import { bootApp, closeApps, startApp } from '../support/http-app.js';
import { HttpSite } from '../support/http-site.js';
import { sharedRedis, until } from '../support/redis-servers.js';
import { TcpProxy } from '../support/tcp-proxy.js';

jest.setTimeout(40_000);

const SITE = 'site.example';
const withoutPlace = (message: string) => message.replace(/, line \d+, column \d+: /, ': ');
/** Whoever comes second waits longer than a test may take. */
const SLOW = { requestsPerSecond: 0.02, burstCapacity: 1 };
const FAST = { requestsPerSecond: 1_000, burstCapacity: 1_000 };

/** Redis is well, and has to answer everything, however busy this machine is. */
const PATIENT_MS = 10_000;

let folder: string;
let file: string;
let proxy: TcpProxy | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outbound-nest-'));
  file = join(folder, 'limits.json');
});

afterEach(async () => {
  await closeApps();
  await HttpSite.closeAll();
  await proxy?.close();
  proxy = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** Boots with outbound options, which may be wrong. */
function boot(outbound?: unknown, more: RateLimitOptions = {}): Promise<HttpApp> {
  const options = { ...more, ...(outbound === undefined ? {} : { outbound }) } as RateLimitOptions;
  return bootApp('express', { imports: [RateLimitModule.forRoot(options)] });
}

const limiterOf = (app: HttpApp) => app.provider(OutboundLimiter);
const throttlerOf = (app: HttpApp) => app.provider(AdaptiveThrottler);

/** How many calls may be made at once. */
async function burstOf(app: HttpApp, domain = SITE): Promise<number> {
  for (let i = 0; ; i++) if (!(await limiterOf(app).allow(domain)).allowed) return i;
}

/** Writes the file as editors do: under another name first. */
function write(content: unknown): void {
  writeFileSync(`${file}.new`, typeof content === 'string' ? content : JSON.stringify(content));
  renameSync(`${file}.new`, file);
}

const inFile = (burst: number) => ({ requests_per_second: 0.1, burst_capacity: burst });

describe('the outbound side', () => {
  it('can be injected anywhere, and its parts belong together', async () => {
    @Injectable()
    class Crawler {
      constructor(
        readonly limiter: OutboundLimiter,
        readonly throttler: AdaptiveThrottler,
      ) {}
    }
    @Module({ providers: [Crawler] })
    class CrawlerModule {}
    const app = await bootApp('express', {
      imports: [CrawlerModule, RateLimitModule.forRoot({ outbound: { default: FAST } })],
    });
    const { limiter, throttler } = app.provider(Crawler);
    expect((await limiter.wait(SITE)).domain).toBe(SITE);
    for (let i = 0; i < 3; i++) await throttler.recordBlock(SITE, 'captcha');
    expect(await limiter.allow(SITE)).toMatchObject({ allowed: false });
    expect(limiterOf(app)).toBe(limiter);
  });

  it('is there without options, as careful as a polite visitor', async () => {
    const app = await boot();
    expect(await burstOf(app)).toBe(1);
    const { retryAfterMs } = await limiterOf(app).allow(SITE);
    expect(retryAfterMs).toBeGreaterThan(500);
    expect(retryAfterMs).toBeLessThanOrEqual(1_000);
    expect(await throttlerOf(app).state(SITE)).toMatchObject({ status: 'normal' });
  });

  it('takes options that have to be waited for', async () => {
    const useFactory = async () => {
      await new Promise(setImmediate);
      return { outbound: { domains: { [SITE]: { requestsPerSecond: 0.1, burstCapacity: 4 } } } };
    };
    const app = await bootApp('express', {
      imports: [RateLimitModule.forRootAsync({ useFactory })],
    });
    expect(await burstOf(app)).toBe(4);
  });

  it('takes undefined for an option that was left out', async () => {
    const app = await boot({ default: undefined, domains: undefined, timeoutMs: undefined });
    expect(await burstOf(app)).toBe(1);
  });

  it('is not for modules that do not import it when it is not global', async () => {
    @Injectable()
    class Crawler {
      constructor(readonly limiter: OutboundLimiter) {}
    }
    @Module({ providers: [Crawler] })
    class CrawlerModule {}
    const imports = [RateLimitModule.forRoot({ isGlobal: false })];
    const withoutImport = bootApp('express', { imports: [...imports, CrawlerModule] });
    await expect(withoutImport).rejects.toThrow("can't resolve dependencies of the Crawler");
    const app = await bootApp('express', { imports, providers: [Crawler] });
    expect(app.provider(Crawler).limiter).toBeInstanceOf(OutboundLimiter);
  });

  it('cannot be registered twice', async () => {
    const imports = [FAST, SLOW].map((rule) =>
      RateLimitModule.forRoot({ outbound: { default: rule } }),
    );
    await expect(bootApp('express', { imports })).rejects.toMatchObject({
      code: 'REGISTERED_TWICE',
    });
  });

  it('can be replaced in tests of a user', async () => {
    const double = { wait: () => Promise.resolve('no wait') };
    const override: StartOptions['override'] = (builder) =>
      builder.overrideProvider(OutboundLimiter).useValue(double);
    const imports = [RateLimitModule.forRoot()];
    const app = await bootApp('express', { imports }, { override });
    expect(await limiterOf(app).wait(SITE)).toBe('no wait');
  });

  it('works beside limits of callers, in one handler', async () => {
    const site = await HttpSite.start();
    @Controller()
    class Proxy {
      constructor(private readonly outbound: OutboundLimiter) {}

      @Get()
      @RateLimit('3/hour')
      async get(): Promise<string> {
        return (await this.outbound.fetch(site.url())).text();
      }
    }
    const app = await startApp('express', {
      imports: [RateLimitModule.forRoot({ outbound: { default: FAST } })],
      controllers: [Proxy],
    });
    expect(await app.statuses(4, '/')).toEqual([200, 200, 200, 429]);
    expect(site.received).toHaveLength(3);
    expect(limiterOf(app).getStats('127.0.0.1')).toMatchObject({ totalRequests: 3 });
  });

  it('makes its calls by the fetch that it is given', async () => {
    const urls: unknown[] = [];
    const fetch = (input: unknown) => {
      urls.push(input);
      return Promise.resolve(Response.json({}));
    };
    const app = await boot({ fetch });
    await limiterOf(app).fetch('https://site.example/page');
    expect(urls).toEqual(['https://site.example/page']);
  });

  it('makes its calls by the global fetch of the moment', async () => {
    const app = await boot();
    const real = globalThis.fetch;
    globalThis.fetch = () => Promise.resolve(Response.json('a double'));
    try {
      const response = await limiterOf(app).fetch('https://site.example/page');
      expect(await response.json()).toBe('a double');
    } finally {
      globalThis.fetch = real;
    }
  });

  it('limits the HttpService of Nest', async () => {
    const site = await HttpSite.start();
    @Injectable()
    class Client implements OnModuleInit {
      constructor(
        readonly http: HttpService,
        private readonly limiter: OutboundLimiter,
        private readonly throttler: AdaptiveThrottler,
      ) {}

      onModuleInit(): void {
        limitAxios(this.http, this.limiter, this.throttler);
      }
    }
    const app = await bootApp('express', {
      imports: [
        HttpModule.register({ proxy: false }),
        RateLimitModule.forRoot({ outbound: { default: FAST } }),
      ],
      providers: [Client],
    });
    await firstValueFrom(app.provider(Client).http.get(site.url()));
    expect(limiterOf(app).getStats('127.0.0.1').totalRequests).toBe(1);
  });

  it('needs a store with gates, and says so when it is used', async () => {
    class OwnStore extends LimitStore {
      readonly #store = new MemoryStore(new MonotonicClock());

      override decide(inquiry: Inquiry) {
        return this.#store.decide(inquiry);
      }

      override giveBack(): boolean {
        return false;
      }

      override renew(): boolean[] {
        return [];
      }

      override reset(): void {}
    }
    const app = await boot(undefined, { store: new OwnStore() });
    await expect(limiterOf(app).wait(SITE)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('This store has no gates, which outbound limits need'),
    });
  });

  it('is shared by applications on Redis: turns, blocks and cooldowns', async () => {
    const keyPrefix = `outbound-${randomUUID()}`;
    const redis = { redis: sharedRedis.url, keyPrefix, deadlineMs: PATIENT_MS };
    const options = { default: { requestsPerSecond: 0.05, burstCapacity: 2 } };
    const [one, other] = [await boot(options, redis), await boot(options, redis)];
    await limiterOf(one).wait(SITE);
    await limiterOf(one).wait(SITE);
    expect(await limiterOf(other).allow(SITE)).toMatchObject({ allowed: false });
    const heard: string[] = [];
    throttlerOf(other).events.on('cooldown', ({ domain }) => heard.push(domain));
    await throttlerOf(one).recordBlock(SITE, 'captcha');
    await throttlerOf(other).recordBlock(SITE, 'captcha');
    await throttlerOf(one).recordBlock(SITE, 'captcha');
    await until('the news', () => heard.length === 1);
    expect(await throttlerOf(other).state(SITE)).toMatchObject({
      status: 'cooling',
      consecutiveBlocks: 3,
    });
    await expect(limiterOf(other).wait(SITE, { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'WAIT_TIMED_OUT',
    });
  });

  it('tells of a cooldown that began while others could not be heard', async () => {
    proxy = await TcpProxy.to({ port: Number(new URL(sharedRedis.url).port) });
    const keyPrefix = `outbound-${randomUUID()}`;
    const one = await boot({}, { redis: sharedRedis.url, keyPrefix, deadlineMs: PATIENT_MS });
    const other = await boot({}, { redis: proxy.url, keyPrefix, deadlineMs: 500 });
    await limiterOf(other).allow(SITE);
    const heard: string[] = [];
    throttlerOf(other).events.on('cooldown', ({ domain }) => heard.push(domain));
    proxy.fallSilent();
    for (let i = 0; i < 3; i++) await throttlerOf(one).recordBlock(SITE, 'captcha');
    // Redis is taken for dead, and not asked until it has been tried.
    for (let i = 0; i < 3; i++) await throttlerOf(other).state(SITE);
    proxy.speakAgain();
    await until('the news', () => heard.length > 0);
    expect(heard).toEqual([SITE]);
  });
});

describe('outbound options that are wrong', () => {
  const KNOWN =
    '"default", "domains", "file", "watch", "throttle", "onStoreFailure", "timeoutMs", ' +
    '"maxDomains", "idleMs", "slotLeaseMs", "classifiers", "heedUpstreamLimits", "fetch"';
  const THROTTLE =
    '"blocksToCooldown", "minCooldownMs", "maxCooldownMs", "memoryMs", "probeTimeoutMs", "maxRetryAfterMs"';

  it.each<[options: unknown, message: string]>([
    [5, 'Expected `outbound` to be an object of outbound options, got 5.'],
    [null, 'Expected `outbound` to be an object of outbound options, got null.'],
    [{ rules: {} }, `outbound: unknown field "rules". Known fields: ${KNOWN}.`],
    [
      { timeout_ms: 5 },
      `outbound: unknown field "timeout_ms". Did you mean "timeoutMs"? Known fields: ${KNOWN}.`,
    ],
    [{ file: '' }, 'Expected `outbound.file` to be the path of a file, got "".'],
    [{ watch: 1 }, 'Expected `outbound.watch` to be true or false, got 1.'],
    [{ throttle: 5 }, `Expected \`outbound.throttle\` to be an object with ${THROTTLE}, got 5.`],
    [
      { throttle: { blocks: 3 } },
      `outbound.throttle: unknown field "blocks". Known fields: ${THROTTLE}.`,
    ],
    [
      { throttle: { blocksToCooldown: 0 } },
      'Expected `outbound.throttle.blocksToCooldown` to be a whole number from 1 to 315360000000, got 0.',
    ],
    [
      { throttle: { maxCooldownMs: 1_000 } },
      'Expected `outbound.throttle.maxCooldownMs` to be at least minCooldownMs, which is 30000, got 1000.',
    ],
    [
      { onStoreFailure: 'opne' },
      'Expected `outbound.onStoreFailure` to be "open", "closed" or "local", got "opne".',
    ],
    [{ timeoutMs: -1 }, 'Expected `outbound.timeoutMs` to be a number from 0 up, got -1.'],
    [{ timeoutMs: Number.NaN }, 'Expected `outbound.timeoutMs` to be a number from 0 up, got NaN.'],
    [
      { maxDomains: 0 },
      'Expected `outbound.maxDomains` to be a whole number from 1 to 1000000, got 0.',
    ],
    [{ idleMs: 0.5 }, 'Expected `outbound.idleMs` to be a whole number of milliseconds, got 0.5.'],
    [
      { classifiers: 'mine' },
      'Expected `outbound.classifiers` to be an array of functions, got "mine".',
    ],
    [
      { classifiers: [5] },
      'Expected `outbound.classifiers[0]` to be a function of the response, got 5.',
    ],
    [
      { heedUpstreamLimits: 'yes' },
      'Expected `outbound.heedUpstreamLimits` to be true or false, got "yes".',
    ],
    [{ fetch: {} }, 'Expected `outbound.fetch` to be a function like fetch, got {}.'],
    [
      { default: { requestsPerSecond: 0, burstCapacity: 1 } },
      'default.requestsPerSecond must be a number above 0, up to 1000000, got 0.',
    ],
    [
      { default: { requestsPerSecond: 1 } },
      'default.burstCapacity must be a whole number from 1 to 1000000000000, got undefined.',
    ],
    [
      { domains: { 'Api.Example.com': { requests_per_second: 1, burstCapacity: 1 } } },
      'domains["api.example.com"]: unknown field "requests_per_second". ' +
        'Did you mean "requestsPerSecond"? ' +
        'Known fields: "requestsPerSecond", "burstCapacity", "maxConcurrent", "throttle".',
    ],
    [
      { domains: { [SITE]: { ...FAST, maxConcurrent: -2 } } },
      `domains["${SITE}"].maxConcurrent must be a whole number from -1 to 1000000000000, ` +
        'or left out, got -2.',
    ],
    [
      { domains: { [SITE]: { ...FAST, throttle: { memoryMs: '10 min' } } } },
      `domains["${SITE}"].throttle.memoryMs must be a whole number ` +
        'from 1 to 315360000000, got "10 min".',
    ],
    [
      { domains: { 'a b': FAST } },
      'Expected a domain that names a host, got "a b". Write the name alone, such as ' +
        '"api.example.com", or an address: at most 253 characters.',
    ],
    [
      { domains: { [SITE]: FAST, 'SITE.example': FAST } },
      `domains has two rules for "${SITE}". Keep one of them.`,
    ],
  ])('keep the application from booting: %j', async (outbound, message) => {
    const booting = boot(outbound);
    await expect(booting).rejects.toMatchObject({ message });
    await expect(booting).rejects.toMatchObject({
      code: expect.stringMatching(/^INVALID_(OPTION|DOMAIN)$/),
    });
  });

  it('are warned of when they only look wrong', async () => {
    const app = await boot({ default: { requestsPerSecond: 0.1, burstCapacity: 100 } });
    expect(app.logs.warnings).toEqual([
      "default: a burst of 100 is more than a minute's worth of requests (6). " +
        'Is that what the domain allows?',
    ]);
  });
});

describe('a file of rules', () => {
  it.each<[content: unknown, problem: string]>([
    [undefined, 'cannot be read (ENOENT).'],
    ['{\n  "version": "1.0",\n}', 'is not JSON at line 3, column 1, at "}".'],
    [{}, 'version must be "1.0", got undefined.'],
    [
      { version: '1.0', domain: {} },
      'the file: unknown field "domain". Did you mean "domains"? Known fields: "version", "default_config", "domains", ' +
        '"$schema".',
    ],
    [
      { version: '1.0', domains: { 'api.example.com': { ...inFile(1), burst_capacity: 0 } } },
      'domains["api.example.com"].burst_capacity must be a whole number from 1 to 1000000000000, ' +
        'got 0.',
    ],
    [
      { version: '1.0', default_config: { ...inFile(1), requestsPerSecond: 1 } },
      'default_config: unknown field "requestsPerSecond". Did you mean "requests_per_second"? ' +
        'Known fields: "requests_per_second", "burst_capacity", "max_concurrent".',
    ],
  ])('that cannot be used keeps the application from booting: %j', async (content, problem) => {
    if (content !== undefined) write(content);
    for (const options of [{ file }, { file, watch: false }]) {
      const error = await boot(options).catch((reason: Error) => reason);
      expect(error).toMatchObject({ code: 'INVALID_OPTION', name: 'InvalidOutboundFileError' });
      expect(withoutPlace((error as Error).message)).toBe(`${file}: ${problem}`);
    }
  });

  it('counts before the rules in the code, which count where it says nothing', async () => {
    write({ version: '1.0', domains: { 'one.example': inFile(3) } });
    const other = join(folder, 'other.json');
    writeFileSync(other, JSON.stringify({ version: '1.0', default_config: inFile(6) }));
    const rule = (burstCapacity: number) => ({ requestsPerSecond: 0.1, burstCapacity });
    const app = await boot({
      file,
      default: rule(2),
      domains: { 'one.example': rule(4), 'two.example': rule(5) },
    });
    expect(await burstOf(app, 'one.example')).toBe(3);
    expect(await burstOf(app, 'two.example')).toBe(5);
    expect(await burstOf(app, 'three.example')).toBe(2);
    await closeApps();
    expect(await burstOf(await boot({ file: other, default: rule(2) }))).toBe(6);
  });

  it('is read again when it changes, and says what is different', async () => {
    write({
      version: '1.0',
      default_config: inFile(1),
      domains: { 'one.example': inFile(1), 'two.example': inFile(1) },
    });
    const app = await boot({ file });
    expect(await burstOf(app)).toBe(1);
    write({
      version: '1.0',
      default_config: inFile(3),
      domains: { 'two.example': inFile(1), 'three.example': inFile(2) },
    });
    const lines = () => app.logs.infos.filter((line) => line.startsWith('Outbound rules'));
    await until('the change', () => lines().length > 0);
    expect(lines()).toEqual([
      'Outbound rules were read again: added three.example; changed default; removed one.example.',
    ]);
    expect(await burstOf(app, 'fresh.example')).toBe(3);
    expect(await burstOf(app, 'three.example')).toBe(2);
    expect(app.logs.errors).toEqual([]);
  });

  it('reaches those who wait already', async () => {
    write({ version: '1.0', default_config: { requests_per_second: 0.02, burst_capacity: 1 } });
    const app = await boot({ file });
    await limiterOf(app).wait(SITE);
    const waiting = limiterOf(app).wait(SITE);
    write({ version: '1.0', default_config: { requests_per_second: 100, burst_capacity: 1 } });
    expect((await waiting).waitedMs).toBeLessThan(20_000);
  });

  it('that becomes unusable changes nothing, and one line says why', async () => {
    write({ version: '1.0', default_config: inFile(2) });
    const app = await boot({ file });
    write({ version: '1.0', default_config: inFile(-2) });
    await until('the error', () => app.logs.errors.length > 0);
    // Touched, but not changed: it has been told.
    write({ version: '1.0', default_config: inFile(-2) });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(app.logs.errors.map(withoutPlace)).toEqual([
      `The rules stay as they are: ${file}: default_config.burst_capacity must be a whole number ` +
        'from 1 to 1000000000000, got -2.',
    ]);
    expect(await burstOf(app)).toBe(2);
    write({ version: '1.0', default_config: inFile(5) });
    await until('the good rules', async () => (await burstOf(app, randomUUID())) === 5);
    expect(app.logs.errors).toHaveLength(1);
  });

  it('that is gone changes nothing until it is there again', async () => {
    write({ version: '1.0', default_config: inFile(2) });
    const app = await boot({ file });
    rmSync(file);
    await until('the error', () => app.logs.errors.length > 0);
    expect(app.logs.errors).toEqual([
      `The rules stay as they are: ${file}: cannot be read (ENOENT).`,
    ]);
    expect(await burstOf(app)).toBe(2);
    write({ version: '1.0', default_config: inFile(3) });
    await until('the good rules', async () => (await burstOf(app, randomUUID())) === 3);
  });

  it('is not looked at again when it shall not be watched', async () => {
    write({ version: '1.0', default_config: inFile(2) });
    const app = await boot({ file, watch: false });
    write({ version: '1.0', default_config: inFile(3) });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await burstOf(app)).toBe(2);
  });
});

describe('shutting down', () => {
  /** What would keep the process alive, or could still call back. */
  const resources = () =>
    process
      .getActiveResourcesInfo()
      .filter((name) => /Timeout|FSEvent|StatWatcher|TCPSocketWrap/.test(name))
      .sort();

  it('ends every wait, and says why', async () => {
    const app = await boot({
      default: SLOW,
      domains: { 'slots.example': { ...FAST, maxConcurrent: 1 } },
    });
    const limiter = limiterOf(app);
    await limiter.wait(SITE);
    await limiter.wait('slots.example');
    for (let i = 0; i < 3; i++) await throttlerOf(app).recordBlock('shut.example', 'captcha');
    const waits = [
      limiter.wait(SITE),
      limiter.wait('slots.example'),
      limiter.wait('shut.example'),
      limiter.fetch('https://site.example/'),
    ];
    const ends = Promise.allSettled(waits);
    await new Promise(setImmediate);
    await app.app.close();
    expect(await ends).toMatchObject(
      waits.map(() => ({
        status: 'rejected',
        reason: { code: 'WAIT_ABORTED', cause: 'The application is shutting down.' },
      })),
    );
    await expect(limiter.wait('later.example')).rejects.toMatchObject({
      code: 'WAIT_ABORTED',
      cause: 'The application is shutting down.',
    });
  });

  it.each(['in memory', 'on Redis'])('leaves no timer, watcher or socket: %s', async (where) => {
    write({ version: '1.0', default_config: inFile(2) });
    const redis = { redis: sharedRedis.url, keyPrefix: `outbound-${randomUUID()}` };
    const before = resources();
    const app = await boot({ file }, where === 'on Redis' ? redis : {});
    const limiter = limiterOf(app);
    const waits = [1, 2, 3].map(() => limiter.wait(SITE).catch(() => undefined));
    await waits[1];
    expect(resources().length).toBeGreaterThan(before.length);
    await app.app.close();
    await Promise.all(waits);
    await until('everything to be quiet', () => resources().length <= before.length);
    expect(resources().filter((one) => !before.includes(one))).toEqual([]);
  });

  it('listens no longer to a store that it was given, and leaves it open', async () => {
    let [watches, closed] = [0, 0];
    class OwnStore extends MemoryStore {
      override watchGates(listener: GateListener): GateWatch {
        const watch = super.watchGates(listener);
        watches++;
        return { ...watch, close: () => (watches--, watch.close()) };
      }

      override close(): void {
        closed++;
      }
    }
    const app = await boot({}, { store: new OwnStore(new MonotonicClock()) });
    await limiterOf(app).wait(SITE);
    expect(watches).toBe(1);
    await app.app.close();
    expect([watches, closed]).toEqual([0, 0]);
  });

  it('does not hear of the file any more', async () => {
    write({ version: '1.0', default_config: inFile(2) });
    const app = await boot({ file });
    await app.app.close();
    write('nonsense');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(app.logs.errors).toEqual([]);
  });
});
