import { setTimeout } from 'node:timers/promises';
import type { Request } from 'autocannon';
import autocannon from 'autocannon';
import type { Stage } from './stage.js';
import { answerOf, Tally } from './tally.js';
import { headersOf } from './visitors.js';

/** What autocannon was answered to requests that it sent before and after the change. */
export interface HotUpdateFigures {
  readonly before: Tally;
  readonly after: Tally;
}

const SECONDS = 5;
const CHANGE_AFTER_MS = 2_000;
const REQUESTS_PER_SECOND = 200;
const CONNECTIONS = 10;

/** Raises the limit of the server while requests keep coming. */
export async function updateUnderLoad(stage: Stage): Promise<HotUpdateFigures> {
  const { narrator } = stage;
  narrator.title('2. The file changes while autocannon sends 200 requests a second');
  const figures = { before: new Tally(), after: new Tally() };
  const load = new Load(figures.before);
  const shooting = autocannon({
    url: `http://127.0.0.1:${stage.port}`,
    headers: { host: 'api.localhost' },
    requests: [load.request],
    connections: CONNECTIONS,
    overallRate: REQUESTS_PER_SECOND,
    duration: SECONDS,
  });
  await setTimeout(CHANGE_AFTER_MS);
  await stage.change(['server', 'rateLimit', 'maxQps'], 2_000);
  load.countIn(figures.after);
  await shooting;
  narrator.say(`before  ${figures.before.toString()}`);
  narrator.say(`after   ${figures.after.toString()}`);
  return figures;
}

/** What autocannon sends, and where its answers are counted: by when the request was sent. */
class Load {
  #sent = 0;
  #tally: Tally;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  countIn(tally: Tally): void {
    this.#tally = tally;
  }

  readonly request: Request = {
    setupRequest: (request, context: { tally?: Tally }) => {
      context.tally = this.#tally;
      // In turn, so that no client is the reason.
      const client = headersOf(this.#sent++ % CONNECTIONS);
      return { ...request, headers: { ...request.headers, ...client } };
    },
    onResponse: (status, body, context: { tally?: Tally }) => {
      context.tally!.note(answerOf(status, body));
    },
  };
}
