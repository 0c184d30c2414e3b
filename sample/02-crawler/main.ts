import 'reflect-metadata';
import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { Ledger } from './ledger.js';
import type { Line } from './screen.js';
import { Screen, seconds } from './screen.js';
import type { Ports } from './sites.js';
import { Site, startAll } from './sites.js';
import type { Task } from './worker.js';
import { crawl, crawlInProcess, workAsTold } from './worker.js';

const CRAWL_MS = 7_000;
const REDIS = process.env['REDIS_URL'] || undefined;
const WORKERS = REDIS ? 2 : 1;
const AS_JSON = process.argv.includes('--json');

if (cluster.isPrimary) await lead();
else await workAsTold();

/** Starts the sites, lets the workers crawl them, and shows what happens. */
async function lead(): Promise<void> {
  const sites = [
    new Site('docs.test', 60),
    new Site('news.test', 30, 12),
    new Site('shop.test', 20),
  ];
  const tasks = tasksFor(sites, await startAll(sites));
  const ledger = new Ledger();
  const screen = new Screen(AS_JSON ? process.stderr : process.stdout);
  const draw = () => screen.draw(sites.map((site) => lineOf(site, ledger)));
  const startedMs = Date.now();

  screen.say(REDIS ? 'Two workers, on Redis.' : 'One worker, by itself.');
  const timer = setInterval(draw, screen.intervalMs);
  const work = REDIS ? crawlInProcess : crawl;
  const working = tasks.map((task, i) =>
    work(task, (report) => {
      ledger.note(i + 1, report);
      for (const { atMs, domain, text } of report.news) {
        screen.say(`${seconds(atMs - startedMs)}  worker ${i + 1}: ${domain} ${text}`);
      }
    }),
  );
  await Promise.all(working);
  clearInterval(timer);
  draw();
  for (const site of sites) site.stop();
  if (AS_JSON) console.log(figuresOf(startedMs, sites, ledger));
  else console.table(totalsOf(sites, ledger));
}

/** Deals out the pages, like cards. */
function tasksFor(sites: readonly Site[], ports: Ports): Task[] {
  const urls = sites.flatMap((site) => site.urls);
  // New with each run, as what the last one spent is not over yet.
  const keyPrefix = `crawler:${randomUUID()}`;
  return Array.from({ length: WORKERS }, (_, worker) => ({
    ...{ ports, redis: REDIS, keyPrefix, milliseconds: CRAWL_MS },
    urls: urls.filter((_url, i) => i % WORKERS === worker),
  }));
}

function lineOf({ domain, perSecond }: Site, ledger: Ledger): Line {
  return {
    ...{ domain, perSecond },
    requests: ledger.totals(domain).total,
    waiting: ledger.waiting(domain),
    cooldownMs: ledger.cooldownMs(domain),
  };
}

function totalsOf(sites: readonly Site[], ledger: Ledger) {
  return Object.fromEntries(sites.map(({ domain }) => [domain, ledger.totals(domain)]));
}

function figuresOf(startedMs: number, sites: readonly Site[], ledger: Ledger): string {
  const totals = totalsOf(sites, ledger);
  const visits = Object.fromEntries(sites.map((site) => [site.domain, site.visits]));
  return JSON.stringify({ workers: WORKERS, startedMs, totals, visits, news: ledger.news });
}
