import 'reflect-metadata';
import { once } from 'node:events';
import { updateUnderLoad } from './hot-update.js';
import { reachEveryLevel } from './levels.js';
import { Narrator } from './narrator.js';
import { Stage } from './stage.js';
import { tighten } from './tightening.js';
import { holdWebSockets } from './web-socket.js';

const AS_JSON = process.argv.includes('--json');
const SERVES = process.argv.includes('--serve');
const PORT = Number(process.env['PORT'] ?? (SERVES ? 3000 : 0));

const stage = new Stage(new Narrator(AS_JSON ? process.stderr : process.stdout));
try {
  await stage.start(PORT);
  if (SERVES) await serve();
  else await show();
} finally {
  await stage.close();
}

/** Plays all scenes. */
async function show(): Promise<void> {
  const { narrator, api, chat, port } = stage;
  narrator.title(`The gateway is on port ${port}, in front of ${api.name} and ${chat.name}.`);
  const figures = {
    levels: await reachEveryLevel(stage),
    hotUpdate: await updateUnderLoad(stage),
    tightening: await tighten(stage),
    webSocket: await holdWebSockets(stage),
    logged: narrator.logged,
    left: { connections: await stage.connections('server'), streams: api.streams },
  };
  if (AS_JSON) console.log(JSON.stringify(figures));
}

/** Stays, to be tried by hand. */
async function serve(): Promise<void> {
  const url = `http://localhost:${stage.port}`;
  stage.narrator.title(`The gateway is on ${url}. Try:

  curl -i -H 'Host: chat.localhost' ${url}
  for i in $(seq 10); do curl -so /dev/null -w '%{http_code} ' -H 'Host: api.localhost' ${url}/reports; done

Its limits are in ${stage.file.path}: change them.
Stop it with Ctrl+C.`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}
