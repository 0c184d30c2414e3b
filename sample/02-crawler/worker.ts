import cluster from 'node:cluster';
import { once } from 'node:events';
import { NestFactory } from '@nestjs/core';
import type { CrawlerOptions } from './crawler.module.js';
import { CrawlerModule } from './crawler.module.js';
import { CrawlerService } from './crawler.service.js';
import type { Report } from './report.js';

/** What a worker is to do. */
export interface Task extends CrawlerOptions {
  readonly urls: readonly string[];
  readonly milliseconds: number;
}

/** Boots the application, crawls, and closes it again. */
export async function crawl(task: Task, report: (report: Report) => void): Promise<void> {
  const app = await NestFactory.createApplicationContext(CrawlerModule.forRoot(task), {
    logger: ['warn', 'error'],
  });
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(), task.milliseconds);
  await app.get(CrawlerService).crawl(task.urls, end.signal, report);
  clearTimeout(timer);
  await app.close();
}

/** The same in a process of its own. */
export async function crawlInProcess(task: Task, report: (report: Report) => void): Promise<void> {
  const worker = cluster.fork({ CRAWLER_TASK: JSON.stringify(task) });
  worker.on('message', report);
  const [code] = (await once(worker, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`A worker ended with ${code ?? 'a signal'}.`);
}

/** What the process does that was started for it. */
export async function workAsTold(): Promise<void> {
  const task = JSON.parse(process.env['CRAWLER_TASK']!) as Task;
  await crawl(task, (report) => process.send!(report));
  cluster.worker!.disconnect();
}
