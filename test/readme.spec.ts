import 'reflect-metadata';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { INestApplication, Type } from '@nestjs/common';
import { BullModule, getQueueToken } from '@nestjs/bullmq';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import type { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkDashboardOptions } from '../lib/dashboard/dashboard-options.js';
import type { RateLimitOptions } from '../lib/index.js';
import { RateLimiter, RateLimitError, RateLimitModule } from '../lib/index.js';
import type { TestLimits } from '../lib/testing/index.js';
import { DIAGNOSES } from '../lib/nest/diagnosis.js';
import { checkOptions } from '../lib/nest/rate-limit-options.js';
import { DEFAULT_PREFIX, METRICS } from '../lib/observe/metrics.js';
import { compile } from './support/compile.js';
import { HttpSite } from './support/http-site.js';
import { sharedRedis, until } from './support/redis-servers.js';

const README = readFileSync('README.md', 'utf8');
/** What the README points to beside the code. */
const POINTED = [...README.matchAll(/\]\(([^)#]+\.md)/g)].map(([, path]) => path!);
const DOCS = [README, ...[...new Set(POINTED)].map((path) => readFileSync(path, 'utf8'))];
const EXAMPLES = DOCS.flatMap(examplesOf);
const REGISTERING = [...EXAMPLES.keys()].filter((i) => EXAMPLES[i]!.includes('declare module'));
const FOLDER = join('test', 'generated');
const fileOf = (index: number) => join(FOLDER, `readme-${index}.ts`);

type Exports = Record<string, Type<unknown> | undefined>;

async function load(index: number): Promise<Exports> {
  return (await import(`./generated/readme-${index}.js`)) as Exports;
}

/** An application with one controller and these plans. */
async function bootWith(controller: Type<unknown>, plans: RateLimitOptions['plans'] & object) {
  const root = RateLimitModule.forRoot({ plans });
  const module = await Test.createTestingModule({
    imports: [root],
    controllers: [controller],
  }).compile();
  const app = module.createNestApplication<NestExpressApplication>({ logger: false });
  await app.listen(0, '127.0.0.1');
  return app;
}

async function boot(module: Type<unknown>): Promise<INestApplication> {
  const app = await NestFactory.create(module, { logger: false });
  await app.listen(0, '127.0.0.1');
  return app;
}

beforeAll(() => {
  mkdirSync(FOLDER, { recursive: true });
  EXAMPLES.forEach((code, index) => writeFileSync(fileOf(index), code));
  // Some examples go on from the quick start.
  writeFileSync(join(FOLDER, 'app.module.ts'), EXAMPLES[0]!);
});

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

describe('the README', () => {
  it('shows examples that compile', () => {
    writeFileSync(
      join(FOLDER, 'tsconfig.json'),
      JSON.stringify({
        extends: '../tsconfig.json',
        compilerOptions: {
          rootDir: '../..',
          paths: {
            'nestjs-floodgate': ['../../lib/index.ts'],
            'nestjs-floodgate/dashboard': ['../../lib/dashboard/index.ts'],
            'nestjs-floodgate/testing': ['../../lib/testing/index.ts'],
            'nestjs-floodgate/*': ['../../lib/observe/*/index.ts'],
          },
        },
        include: ['.', '../../lib/**/*.d.ts'],
        exclude: REGISTERING.map((index) => `readme-${index}.ts`),
      }),
    );
    const tsc = join('node_modules', 'typescript', 'bin', 'tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', FOLDER], { encoding: 'utf8' });
    expect(stdout).toBe('');
    // What these tell the compiler would hold for the other examples, too.
    expect(REGISTERING.length).toBeGreaterThan(0);
    for (const index of REGISTERING) expect(compile(EXAMPLES[index]!)).toEqual([]);
  }, 120_000);

  it('shows the quick start as it is, in at most 15 lines', () => {
    expect(EXAMPLES[0]).toBe(readFileSync('sample/01-quick-start/app.module.ts', 'utf8'));
    expect(EXAMPLES[0]!.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
  });

  it('shows what the quick start really answers', async () => {
    const { AppModule } = await load(0);
    const app = await boot(AppModule!);
    const answers: string[] = [];
    for (let i = 0; i < 6; i++) answers.push(await ask(app));
    await app.close();
    const [, shown] = /```console\n\$ for [^\n]+\n(.*?)```/s.exec(README)!;
    expect(shown).toBe(`${answers[0]}...\n${answers[5]}`);
  });

  it('shows modules that boot', async () => {
    let booted = 0;
    for (let index = 0; index < EXAMPLES.length; index++) {
      const { AppModule } = await load(index);
      if (!AppModule) continue;
      const app = await boot(AppModule);
      await app.close();
      booted++;
    }
    expect(booted).toBeGreaterThanOrEqual(3);
  });

  it('shows code that uses the limiter and changes plans', async () => {
    const { PlanAdmin } = await loadExporting('PlanAdmin');
    const { Importer } = await loadExporting('Importer');
    const module = await Test.createTestingModule({
      imports: [
        RateLimitModule.forRoot({
          plans: { gold: '2/minute', daily: '100/day', uploads: { maxConcurrent: 1 } },
        }),
      ],
      providers: [PlanAdmin!, Importer!],
    }).compile();
    const importer = module.get<{ importFor(user: string): Promise<string> }>(Importer!);
    expect(await importer.importFor('ada')).toBe('imported');
    expect(await importer.importFor('ada')).toMatch(/^try again in \d+ ms$/);
    module.get<{ raiseGold(): void }>(PlanAdmin!).raiseGold();
    expect(await importer.importFor('bob')).toBe('imported');
    await module.close();
  });

  it('shows what is known only afterwards', async () => {
    const { AppModule } = await loadExporting('AccountController');
    const app = await boot(AppModule!);
    const login = (password: string) => post(app, '/login', { password });
    const statuses: number[] = [];
    for (let i = 0; i < 7; i++) statuses.push((await login('open sesame')).status);
    for (let i = 0; i < 6; i++) statuses.push((await login('guess')).status);
    expect(statuses).toEqual([...Array<number>(7).fill(201), 401, 401, 401, 401, 401, 429]);
    await post(app, '/complete', {});
    const { headers } = await post(app, '/complete', {});
    expect(headers.get('RateLimit')).toMatch(/^"model-tokens";r=380;/);
    await app.close();
  });

  it('shows logins that are limited by account beside by address', async () => {
    const { LoginController } = await loadExporting('LoginController');
    const app = await bootWith(LoginController!, {});
    const statuses = async (email: string, password: string, count: number) => {
      const seen: number[] = [];
      for (let i = 0; i < count; i++) {
        seen.push((await post(app, '/login', { email, password })).status);
      }
      return seen;
    };
    expect(await statuses('ada@example.com', 'open sesame', 2)).toEqual([201, 201]);
    const refused = [401, 401, 401, 401, 401, 429];
    expect(await statuses('ada@example.com', 'guess', 6)).toEqual(refused);
    expect(await statuses(' Ada@Example.com', 'guess', 1)).toEqual([429]);
    expect(await statuses('bob@example.com', 'guess', 1)).toEqual([401]);
    const without: number[] = [];
    for (let i = 0; i < 7; i++) without.push((await post(app, '/login', { i })).status);
    expect(without).toEqual([...refused, 429]);
    const bare = await fetch(`${await app.getUrl()}/login`, { method: 'POST' });
    expect(bare.status).toBe(429);
    await app.close();
  });

  it('shows routes with a chain of plans, weights, a scope and no limit', async () => {
    const { ReportsController } = await loadExporting('ReportsController');
    const app = await bootWith(ReportsController!, {
      gold: '6/day',
      daily: '100/day',
      everybody: '50/day',
    });
    const seen = async (method: string, path: string) => {
      const { status, headers } = await fetch(`${await app.getUrl()}/reports${path}`, { method });
      return [status, headers.get('RateLimit')?.replaceAll(/;t=\d+/g, '')];
    };
    expect(await seen('GET', '')).toEqual([200, '"gold";r=5, "daily";r=99']);
    expect(await seen('POST', '')).toEqual([201, '"gold";r=0, "daily";r=94']);
    expect(await seen('GET', '')).toEqual([429, '"gold";r=0, "daily";r=94']);
    expect(await seen('GET', '/search')).toEqual([200, '"everybody";r=49, "gold";r=5']);
    expect(await seen('GET', '/health')).toEqual([200, undefined]);
    await app.close();
  });

  it('shows a limit in front of the whole application, missing routes included', async () => {
    const index = EXAMPLES.findIndex((code) => code.includes('maxQpsPerClient: 10'));
    const { AppModule } = await load(index);
    const app = await boot(AppModule!);
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask(app)));
    expect(new Set(answers.map((answer) => answer.split('\n')[0]))).toEqual(
      new Set(['HTTP/1.1 404 Not Found', 'HTTP/1.1 429 Too Many Requests']),
    );
    await app.close();
  });

  it('shows addresses that are never limited', async () => {
    const { StatusController } = await loadExporting('StatusController');
    const app = await bootWith(StatusController!, {});
    app.set('trust proxy', 'loopback');
    const statuses = async (address: string) => {
      const seen = new Set<number>();
      const headers = { 'X-Forwarded-For': address };
      for (let i = 0; i < 7; i++) {
        seen.add((await fetch(`${await app.getUrl()}/status`, { headers })).status);
      }
      return [...seen];
    };
    expect(await statuses('10.1.2.3')).toEqual([200]);
    expect(await statuses('203.0.113.9')).toEqual([200, 429]);
    await app.close();
  });

  it('shows what becomes of throttlers', async () => {
    const { AppModule } = await loadExporting('CatsController');
    const app = await boot(AppModule!);
    // More than comes back however slow the machine is.
    const statuses = async (path: string) => {
      const url = `${await app.getUrl()}${path}`;
      const answers = await Promise.all(Array.from({ length: 40 }, () => fetch(url)));
      return [...new Set(answers.map(({ status }) => status))].sort();
    };
    expect(await statuses('/')).toEqual([200, 429]);
    expect(await statuses('/search')).toEqual([200, 429]);
    expect(await statuses('/health')).toEqual([200]);
    await app.close();
  });

  it('shows plans from a database, at one look-up for each customer', async () => {
    const { AppModule, Database } = await loadExporting('CustomerPlans');
    const app = await NestFactory.create(AppModule!, { logger: false });
    app.use((request: { user?: unknown; query: unknown }, _: unknown, next: () => void) => {
      request.user = request.query;
      next();
    });
    await app.listen(0, '127.0.0.1');
    const statuses: number[] = [];
    for (const id of ['acme', 'acme', 'acme', 'other', 'other', 'other']) {
      statuses.push((await fetch(`${await app.getUrl()}?id=${id}`)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect(app.get<{ lookUps: number }>(Database!, { strict: false }).lookUps).toBe(2);
    await app.close();
  });

  it('shows a test that moves time and forgets limits', async () => {
    const index = EXAMPLES.findIndex((code) => code.includes('TestLimits'));
    const { createTestApp, limits } = (await import(`./generated/readme-${index}.js`)) as {
      createTestApp: () => Promise<INestApplication>;
      limits: TestLimits;
    };
    const app = await createTestApp();
    await app.listen(0, '127.0.0.1');
    const statuses = async (count: number) => {
      const seen: number[] = [];
      for (let i = 0; i < count; i++) seen.push((await fetch(await app.getUrl())).status);
      return seen;
    };
    const five = Array<number>(5).fill(200);
    expect(await statuses(6)).toEqual([...five, 429]);
    limits.advance(2_000);
    expect(await statuses(2)).toEqual([200, 429]);
    limits.reset();
    expect(await statuses(6)).toEqual([...five, 429]);
    await app.close();
  });

  it('shows a processor that hands long waits to its queue', async () => {
    const { PageProcessor } = await loadExporting('PageProcessor');
    const site = await HttpSite.start();
    const prefix = `readme-${process.pid}`;
    const connection = { url: sharedRedis.url };
    const module = await Test.createTestingModule({
      imports: [
        RateLimitModule.forRoot({
          outbound: { default: { requestsPerSecond: 1, burstCapacity: 1 } },
        }),
        BullModule.forRoot({ connection, prefix }),
        BullModule.registerQueue({ name: 'pages' }),
      ],
      providers: [PageProcessor!],
    }).compile();
    await module.init();
    const queue = module.get<Queue>(getQueueToken('pages'));
    const jobs = await queue.addBulk(
      Array.from({ length: 2 }, () => ({ name: 'page', data: { url: site.url() } })),
    );
    await until('all jobs', async () => (await queue.getCompletedCount()) === jobs.length);
    const done = await queue.getCompleted();
    expect(done.map(({ returnvalue }) => returnvalue as unknown)).toEqual([200, 200]);
    // Both at once, and the one that was too early went back to the queue.
    expect(Math.max(...done.map(({ attemptsStarted }) => attemptsStarted))).toBeGreaterThan(1);
    expect(done.map(({ attemptsMade }) => attemptsMade)).toEqual([1, 1]);
    expect(site.received).toHaveLength(2);
    await queue.obliterate({ force: true });
    await module.close();
    await site.close();
  }, 60_000);

  it('lists every option with its default', () => {
    const defaults = checkOptions({});
    const rows = tableRows('| option ');
    const names = rows.map(([name]) => name);
    expect(() => checkOptions({ nonsense: 1 } as object)).toThrow(RateLimitError);
    const known = knownOptions();
    expect([...known, 'isGlobal'].sort()).toEqual([...names].sort());
    for (const [name, , shown] of rows) {
      const value = defaults[name as keyof typeof defaults];
      if (typeof value === 'object' || value === undefined) continue;
      expect([name, shown]).toEqual([
        name,
        typeof value === 'string' ? `'${value}'` : String(value),
      ]);
    }
  });

  it('lists every warning', () => {
    const listed = tableRows('| warning ').map(([code]) => code);
    expect(listed).toEqual(Object.keys(DIAGNOSES));
  });

  it.each(['StatsController', 'LimitsController'])('shows what has happened: %s', async (name) => {
    const { [name]: Controller } = await loadExporting(name);
    const module = await Test.createTestingModule({
      imports: [RateLimitModule.forRoot({ plans: { gold: '1/minute' } })],
      controllers: [Controller!],
    }).compile();
    const limiter = module.get(RateLimiter);
    for (let i = 0; i < 3; i++) await limiter.allow('ada', 'gold');
    const shown = module.get<{ show(): object }>(Controller!).show();
    expect(shown).toMatchObject({ totals: { allowed: 1, denied: 2 } });
    await module.close();
  });

  it('lists every metric with its labels', () => {
    const listed = tableRows('| metric ').flatMap(([names, labels]) =>
      names!.split(', ').map((name) => [name, labels]),
    );
    const known = METRICS.map(({ prometheus, labels }) => [
      `${DEFAULT_PREFIX}_${prometheus}`,
      labels.join(', ').replaceAll('.', '_'),
    ]);
    expect(listed.sort()).toEqual(known.sort());
  });

  /** What an application that is busy makes its own callers wait: for Redis, it is the rest that counts. */
  const BUSY: [fault: string, longestMs: number][] = [
    ['application: computes for 0.5 s', 600],
    // Each of 50 clients waits for the handlers of the others.
    ['application: computes for 60 ms', 50 * 60 + 500],
    // Three turns of the event loop take as long as that under a flood.
    ['application: is flooded', 1_000],
  ];

  it('sums up the faults as their table has them', () => {
    const rows = tableRows('| fault ');
    const [, count, limitMs] = /<summary>(\d+) faults: .* no wait of (\d+) ms/.exec(README)!;
    expect(rows).toHaveLength(Number(count));
    for (const [fault, wait, errors, , overAdmission] of rows) {
      expect([errors, overAdmission]).toEqual(['0', '0']);
      const [, busyMs = Number(limitMs)] = BUSY.find(([start]) => fault!.startsWith(start)) ?? [];
      expect(parseFloat(wait!)).toBeLessThan(busyMs);
    }
  });

  it('draws the house as it is', () => {
    const [, tree] = /```\nlib\/\n(.*?)\nlua\//s.exec(README)!;
    const drawn = [...tree!.matchAll(/^ {2}([a-z]+)\/ /gm)].map(([, name]) => name);
    const rooms = readdirSync('lib', { withFileTypes: true }).filter((one) => one.isDirectory());
    expect(drawn.sort()).toEqual(rooms.map(({ name }) => name).sort());
  });

  it('points to what is there', () => {
    const anchors = new Map<string, Set<string>>();
    const broken: string[] = [];
    for (const path of ['README.md', ...new Set(POINTED)]) {
      const links = readFileSync(path, 'utf8').matchAll(
        /\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)/g,
      );
      for (const [link, file, anchor] of links) {
        const target = file ? join(dirname(path), file) : path;
        if (!existsSync(target)) broken.push(`${path}: ${link}`);
        else if (anchor && !anchorsOf(target, anchors).has(anchor)) broken.push(`${path}: ${link}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('lists every option of the dashboard with its default', () => {
    const rows = tableRows('| dashboard option ');
    const defaults = Object.entries(checkDashboardOptions({}));
    const shown = defaults.map(([name, value]) => [
      name,
      Array.isArray(value) ? 'none' : JSON.stringify(value).replaceAll('"', "'"),
    ]);
    const told = rows.map(([name, , value]) => [name, value]);
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(shown));
  });

  it('lists every error code', () => {
    const source = readFileSync('lib/core/errors.ts', 'utf8');
    const start = source.indexOf('RateLimitErrorCode');
    const union = source.slice(start, source.indexOf(';', start));
    const codes = [...union.matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code);
    expect(codes.length).toBeGreaterThan(5);
    expect(
      tableRows('| code ')
        .map(([code]) => code)
        .sort(),
    ).toEqual(codes.sort());
  });
});

/** The status line and the limit headers, as `curl -si | grep` prints them. */
async function ask(app: INestApplication): Promise<string> {
  const response = await fetch(await app.getUrl());
  await response.text();
  const { headers, status, statusText } = response;
  const shown = ['RateLimit-Policy', 'RateLimit', 'Retry-After']
    .filter((name) => headers.has(name))
    .map((name) => `${name}: ${headers.get(name)}\n`);
  return `HTTP/1.1 ${status} ${statusText}\n${shown.join('')}`;
}

async function post(app: INestApplication, path: string, body: object): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' };
  const url = `${await app.getUrl()}${path}`;
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** The anchors that GitHub makes of the headings of a file. */
function anchorsOf(path: string, known: Map<string, Set<string>>): Set<string> {
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm);
  const found = known.get(path) ?? new Set([...headings].map(([, text]) => slug(text!)));
  known.set(path, found);
  return found;
}

function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** The TypeScript of a text, and what its differences lead to. */
function examplesOf(text: string): string[] {
  const blocks = text.matchAll(/^( *)```(ts|diff)\n(.*?)^ *```$/gms);
  return [...blocks].map(([, indent, kind, code]) => {
    const bare = code!.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    return kind === 'ts' ? bare : after(bare);
  });
}

/** What a difference leads to. */
function after(difference: string): string {
  return difference.replaceAll(/^-.*\n/gm, '').replaceAll(/^[+ ]/gm, '');
}

async function loadExporting(name: string): Promise<Exports> {
  return load(EXAMPLES.findIndex((code) => code.includes(`export class ${name} `)));
}

/** Cells of the table whose header starts like that, without the marks around code. */
function tableRows(header: string): string[][] {
  const text = DOCS.find((one) => one.includes(header))!;
  const table = text.slice(text.indexOf(header)).split('\n\n')[0]!;
  return table
    .split('\n')
    .slice(2)
    .map((row) => row.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll('`', '')));
}

function knownOptions(): string[] {
  try {
    checkOptions({ nonsense: 1 } as object);
  } catch (error) {
    const [, listed = ''] = /Known options: (.*)\./.exec((error as Error).message) ?? [];
    return listed.split(', ').map((name) => name.replaceAll('"', ''));
  }
  return [];
}
