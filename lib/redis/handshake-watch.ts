import type { Redis } from 'ioredis';
import { afterSilence } from './silence.js';

/**
 * How long a server may be silent before a connection is usable. A server that hangs accepts
 * connections, because its kernel does, and then says nothing.
 */
const SILENCE_MS = 600;

/**
 * Drops a connection that falls silent before it is usable, so that another one is tried; with
 * `until: 'end'` also one that falls silent later. Takes the place of the timeouts of ioredis, which
 * count the lag of this process as silence of the server and drop healthy connections.
 */
export function watchHandshake(client: Redis, until: 'ready' | 'end' = 'ready'): void {
  let stop = () => {};
  const drop = () => {
    client.disconnect(true);
    // A server that hangs takes no part in closing, and ioredis would wait for it.
    client.stream?.destroy();
  };
  const restart = () => {
    stop();
    stop = afterSilence(SILENCE_MS, drop);
  };
  const onConnect = () => {
    restart();
    client.stream.on('data', restart);
  };
  const onReady = () => {
    if (until === 'end') return;
    client.stream.off('data', restart);
    stop();
  };
  // While sentinels are asked there is no connection to be watched; PatientSentinels does that part.
  if (!client.options.sentinels) client.on('connecting', restart);
  client.on('connect', onConnect);
  client.on('ready', onReady);
  client.on('close', () => stop());
  client.on('end', () => stop());
  if (client.status === 'connecting' && !client.options.sentinels) restart();
}
