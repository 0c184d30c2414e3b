import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compileSample } from '../support/compiled-sample.mjs';
import { sharedRedis } from '../support/redis-servers.js';

interface Visit {
  readonly atMs: number;
  readonly status: number;
}

/** What it prints with `--json`. */
interface Ending {
  readonly workers: number;
  /** Before the first worker began. */
  readonly startedMs: number;
  readonly totals: Record<string, Record<string, number>>;
  readonly visits: Record<string, readonly Visit[]>;
  readonly news: readonly {
    readonly worker: number;
    readonly event: string;
    readonly domain: string;
    readonly atMs: number;
  }[];
}

interface Run {
  readonly stdout: string;
  readonly stderr: string;
  readonly endedMs: number;
}

interface Rule {
  readonly perSecond: number;
  readonly burst: number;
}

/** What the sites allow: the last one in rules.json, the others in the module. */
const RULES = {
  'docs.test': { perSecond: 10, burst: 5 },
  'news.test': { perSecond: 6, burst: 3 },
  'shop.test': { perSecond: 2, burst: 1 },
} satisfies Record<string, Rule>;
const DOMAINS = Object.keys(RULES) as (keyof typeof RULES)[];
/** What `news.test` asks for with its first 429. */
const RETRY_AFTER_MS = 2_000;
/** How long a request may be on its way. */
const ON_THE_WAY_MS = 500;

const LINE = /^(docs|news|shop)\.test +\d+\/s +\d+ waiting +\d+ sent( {2}(▇+|cooldown \d\.\d s))?$/;
const NEWS = /^\d+\.\d s {2}worker \d: news\.test /;

const run = promisify(execFile);
const sample = compileSample('02-crawler');
const running = {
  alone: crawl(['--json']),
  onRedis: crawl(['--json'], { REDIS_URL: sharedRedis.url }),
  forPeople: crawl([]),
};

// A failure is told by the tests that look at that run.
for (const each of Object.values(running)) each.catch(() => undefined);

afterAll(async () => {
  await Promise.allSettled(Object.values(running));
  sample.remove();
}, 60_000);

/** Fails when it ends with another code than 0. */
async function crawl(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  const output = await run(process.execPath, [sample.main, ...args], { env, timeout: 50_000 });
  return { ...output, endedMs: Date.now() };
}

/**
 * The most by which visits since a moment ever went beyond what the rule allows since then. Visitors
 * that are held up on their way make it less, never more.
 */
function excess(visits: readonly Visit[], fromMs: number, { perSecond, burst }: Rule): number {
  const counted = visits.filter(({ atMs }) => atMs >= fromMs);
  const excesses = counted.map(
    ({ atMs }, before) => before + 1 - (burst + (perSecond * (atMs - fromMs)) / 1_000),
  );
  return Math.max(...excesses);
}

describe.each([
  { where: 'in one process', key: 'alone', workers: 1 },
  { where: 'in two processes on Redis', key: 'onRedis', workers: 2 },
] as const)('the crawler $where', ({ key, workers }) => {
  let crawled: Run;
  let ending: Ending;
  /** From the first request to the end of the process: how soon a process starts is not its doing. */
  let tookMs: number;

  beforeAll(async () => {
    crawled = await running[key];
    ending = JSON.parse(crawled.stdout.trimEnd().split('\n').at(-1)!) as Ending;
    const visits = Object.values(ending.visits).flat();
    tookMs = crawled.endedMs - Math.min(...visits.map(({ atMs }) => atMs));
  }, 60_000);

  function heardOfCooldownMs(worker: number): number {
    return ending.news.find((each) => each.worker === worker && each.event === 'cooldown')!.atMs;
  }

  it('ends by itself within 15 seconds', () => {
    expect(ending.workers).toBe(workers);
    expect(tookMs).toBeLessThan(15_000);
  });

  it('shows how far it is, and complains about nothing', () => {
    const [first, ...lines] = crawled.stderr.trimEnd().split('\n');
    expect(first).toBe(workers === 1 ? 'One worker, by itself.' : 'Two workers, on Redis.');
    expect(lines.filter((line) => !LINE.test(line) && !NEWS.test(line))).toEqual([]);
    expect(crawled.stdout.trimEnd().split('\n')).toHaveLength(1);
    const draws = lines.filter((line) => LINE.test(line)).length / DOMAINS.length;
    expect(draws).toBeGreaterThanOrEqual(3);
    expect(lines.some((line) => / {2}cooldown \d/.test(line))).toBe(true);
  });

  it.each(DOMAINS)('visits %s, and never more often than it allows', (domain) => {
    const visits = ending.visits[domain]!;
    // What it allows in one second, of the several that even the one in a cooldown has.
    const { perSecond, burst } = RULES[domain];
    expect(visits.length).toBeGreaterThanOrEqual(burst + perSecond);
    expect(excess(visits, ending.startedMs, RULES[domain])).toBeLessThanOrEqual(0);
    expect(ending.totals[domain]!['total']).toBeGreaterThanOrEqual(visits.length);
  });

  it('leaves the site that pushed back alone for as long as it asked, then comes again', () => {
    const visits = ending.visits['news.test']!;
    const { atMs } = visits.find(({ status }) => status === 429)!;
    const endsMs = atMs + RETRY_AFTER_MS;
    const knownMs = Array.from({ length: workers }, (_, i) => heardOfCooldownMs(i + 1));
    // What was under way already cannot be called back.
    const quietMs = Math.max(...knownMs) + ON_THE_WAY_MS;
    const inCooldown = visits.filter((visit) => visit.atMs > quietMs && visit.atMs < endsMs);
    expect(inCooldown).toEqual([]);
    const again = visits.filter((visit) => visit.atMs >= endsMs);
    expect(again.length).toBeGreaterThan(1);
    expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]));
    expect(excess(again, endsMs, RULES['news.test'])).toBeLessThanOrEqual(0);
    expect(ending.totals['news.test']!['cooldowns']).toBeGreaterThanOrEqual(1);
  });

  it('leaves nobody alone who did not ask for it', () => {
    for (const domain of ['docs.test', 'shop.test'] as const) {
      expect(new Set(ending.visits[domain]!.map(({ status }) => status))).toEqual(new Set([200]));
      expect(ending.totals[domain]!['cooldowns']).toBe(0);
    }
  });

  it('tells every worker about the cooldown and its end', () => {
    const heard = (event: string) => {
      const news = ending.news.filter((each) => each.event === event);
      return new Set(news.map(({ worker, domain }) => `worker ${worker}: ${domain}`));
    };
    const all = Array.from({ length: workers }, (_, i) => `worker ${i + 1}: news.test`);
    expect(heard('cooldown')).toEqual(new Set(all));
    expect(heard('recovered')).toEqual(new Set(all));
    // Only who was refused knows about it.
    expect(all).toEqual(expect.arrayContaining([...heard('block')]));
    expect(heard('block').size).toBeGreaterThanOrEqual(1);
  });
});

describe('the crawler for people', () => {
  it('ends with a table', async () => {
    const { stdout, stderr } = await running.forPeople;
    expect(stderr).toBe('');
    const rows = stdout.split('\n').filter((line) => line.startsWith('│'));
    const cells = rows.map((row) => row.split('│').map((cell) => cell.trim()));
    expect(cells[0]!.slice(1, -1)).toEqual([
      ...['(index)', 'total', 'delayed', 'meanWaitMs', 'delayRate', 'cancelled', 'cooldowns'],
    ]);
    expect(cells.slice(1).map(([, domain]) => domain)).toEqual(DOMAINS);
  }, 60_000);
});
