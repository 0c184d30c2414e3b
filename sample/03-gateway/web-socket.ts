import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Stage } from './stage.js';

/** What WebSockets held, and when one more was let in. */
export interface WebSocketFigures {
  /** What the service said back over the first two. */
  readonly echoes: readonly string[];
  /** Connections of the route while two are open, when one is closed, and when all are. */
  readonly held: readonly number[];
  /** What a third is answered while two are open, and when one is closed. */
  readonly third: readonly number[];
}

/** A WebSocket and what it was answered: 101 when it was let in. */
interface Knock {
  readonly socket: WebSocket;
  readonly status: number;
}

const ROUTE = 'chat.localhost/live';

/** Two WebSockets are allowed; a third comes in when one of them has closed. */
export async function holdWebSockets(stage: Stage): Promise<WebSocketFigures> {
  const { narrator } = stage;
  narrator.title('4. A WebSocket holds its connection until it closes');
  const [first, second] = [await knock(stage), await knock(stage)];
  const echoes = [await echo(first, 'Hello'), await echo(second, 'Hi')];
  const held = [await stage.connections('route', ROUTE)];
  const refused = await knock(stage);
  narrator.say(`two are open, ${held[0]} connections are held; a third: ${refused.status}`);

  held.push(await close(stage, first, 1));
  const admitted = await knock(stage);
  narrator.say(`one is closed, ${held[1]} connection is held; a third: ${admitted.status}`);

  await close(stage, second, 1);
  held.push(await close(stage, admitted, 0));
  narrator.say(`all are closed, ${held[2]} connections are held`);
  return { echoes, held, third: [refused.status, admitted.status] };
}

function knock({ port }: Stage): Promise<Knock> {
  const headers = { host: 'chat.localhost' };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/live`, { headers });
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve({ socket, status: 101 }));
    socket.once('unexpected-response', (_request, { statusCode }) => {
      resolve({ socket, status: statusCode! });
      socket.terminate();
    });
    socket.on('error', reject);
  });
}

async function echo({ socket }: Knock, text: string): Promise<string> {
  const answered = once(socket, 'message');
  socket.send(text);
  const [message] = (await answered) as [Buffer];
  return message.toString();
}

/** Closes one, waits until so many are left, and tells how many are. */
async function close(stage: Stage, { socket }: Knock, left: number): Promise<number> {
  socket.close();
  await stage.untilConnections(left, 'route', ROUTE);
  return stage.connections('route', ROUTE);
}
