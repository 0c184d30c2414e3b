import type { Stage } from './stage.js';
import { Tally } from './tally.js';

/** What was asked for, and who said no. */
export interface LevelFigures {
  readonly level: string;
  readonly url: string;
  readonly tally: Tally;
}

/** Reaches the limit of every level. */
export async function reachEveryLevel(stage: Stage): Promise<LevelFigures[]> {
  stage.narrator.title('1. Every level can say no');
  return [
    await reachClientLimit(stage),
    // Many clients, so that none of them is the reason.
    await reach(stage, 'route', 'api.localhost/reports', 20, 20),
    await reach(stage, 'backend', 'chat.localhost/', 30, 30),
    await reach(stage, 'server', 'api.localhost/', 300, 30),
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

async function reach(
  stage: Stage,
  level: string,
  url: string,
  times: number,
  clients: number,
): Promise<LevelFigures> {
  const tally = new Tally(await stage.visitors.ask(url, times, clients));
  return told(stage, { level, url, tally });
}

function told({ narrator }: Stage, figures: LevelFigures): LevelFigures {
  const { level, url, tally } = figures;
  narrator.say(`${level.padEnd(8)} ${url.padEnd(22)} ${tally.toString()}`);
  return figures;
}
