import type { Stage } from './stage.js';
import { Tally } from './tally.js';

/** What was asked for, and who said no. */
export interface LevelFigures {
  readonly level: string;
  readonly url: string;
  readonly tally: Tally;
}

/** Many requests at once, to reach the limit of a level. */
interface Rush {
  readonly level: string;
  readonly url: string;
  readonly times: number;
  readonly clients: number;
}

/** Reaches the limit of every level. */
export async function reachEveryLevel(stage: Stage): Promise<LevelFigures[]> {
  stage.narrator.title('1. Every level can say no');
  return [
    await reachClientLimit(stage),
    // Many clients, so that none of them is the reason.
    await reach(stage, { level: 'route', url: 'api.localhost/reports', times: 20, clients: 20 }),
    await reach(stage, { level: 'backend', url: 'chat.localhost/', times: 30, clients: 30 }),
    await reach(stage, { level: 'server', url: 'api.localhost/', times: 300, clients: 30 }),
  ];
}

/** One client opens more streams than it may have. */
async function reachClientLimit(stage: Stage): Promise<LevelFigures> {
  const url = 'api.localhost/events';
  const opening = Array.from({ length: 25 }, () => stage.visitors.open(url, 0));
  const streams = await Promise.all(opening);
  const tally = new Tally(streams.map(({ answer }) => answer));
  for (const stream of streams) stream.close();
  await stage.untilConnections(0, 'server');
  return told(stage, { level: 'client', url, tally });
}

async function reach(stage: Stage, { level, url, times, clients }: Rush): Promise<LevelFigures> {
  const tally = new Tally(await stage.visitors.ask(url, times, clients));
  return told(stage, { level, url, tally });
}

function told({ narrator }: Stage, figures: LevelFigures): LevelFigures {
  const { level, url, tally } = figures;
  narrator.say(`${level.padEnd(8)} ${url.padEnd(22)} ${tally.toString()}`);
  return figures;
}
