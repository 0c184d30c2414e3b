import type { Stage } from './stage.js';
import { until } from './until.js';
import type { Stream } from './visitors.js';

/** What one more client was answered while so many streams were open. */
export interface Attempt {
  readonly open: number;
  readonly status: number;
  readonly refusedBy: string | undefined;
}

/** What became of open streams, and of others that came. */
export interface TighteningFigures {
  readonly opened: number;
  readonly limit: number;
  /** Streams that worked on after the limit was lowered. */
  readonly stayed: number;
  readonly attempts: readonly Attempt[];
}

const OPENED = 8;
const LIMIT = 6;

/** Allows fewer connections than are open. */
export async function tighten(stage: Stage): Promise<TighteningFigures> {
  const { narrator } = stage;
  narrator.title('3. Fewer connections are allowed than are open');
  const streams = await openStreams(stage);
  narrator.say(`${stage.api.streams} streams are open`);
  await stage.change(['server', 'rateLimit', 'maxConnections'], LIMIT);
  const stayed = await countWorking(stage, streams);
  narrator.say(`${stayed} of them still work`);

  const attempts = [await attempt(stage)];
  await close(stage, streams.splice(0, OPENED - LIMIT));
  attempts.push(await attempt(stage));
  await close(stage, streams.splice(0, 1));
  attempts.push(await attempt(stage));

  await close(stage, streams);
  await stage.untilConnections(0, 'server');
  return { opened: OPENED, limit: LIMIT, stayed, attempts };
}

async function openStreams({ visitors }: Stage): Promise<Stream[]> {
  const clients = Array.from({ length: OPENED }, (_, client) => client);
  return Promise.all(clients.map((client) => visitors.open('api.localhost/events', client)));
}

async function countWorking({ api }: Stage, streams: readonly Stream[]): Promise<number> {
  api.tell('still here');
  const working = () => streams.filter((one) => one.isOpen && one.hasHeard('still here'));
  await until('all streams to work on', () => working().length === streams.length);
  return working().length;
}

/** Whether one more is let in; it does not stay. */
async function attempt(stage: Stage): Promise<Attempt> {
  const open = stage.api.streams;
  const stream = await stage.visitors.open('api.localhost/events', OPENED);
  const { status, refusedBy } = stream.answer;
  stage.narrator.say(`${open} open, one more: ${status}${refusedBy ? ` (${refusedBy})` : ''}`);
  stream.close();
  await until('it to be gone', () => stage.api.streams === open);
  return { open, status, refusedBy };
}

/** The service hears of it last, after the gateway. */
async function close({ api }: Stage, streams: readonly Stream[]): Promise<void> {
  const left = api.streams - streams.length;
  for (const stream of streams) stream.close();
  await until('the streams to be gone', () => api.streams === left);
}
