// Sends the same request over and over on kept-alive connections and counts the answers. Far
// lighter than a full HTTP client, so that on two cores the server is what is measured.
import { connect } from 'node:net';

const REQUEST = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
const EXPECTED = Buffer.from('HTTP/1.1 200');
const CONNECTIONS = 64;

/** Answers per second of the server on that port. Rejects when any answer is not a 200. */
export async function load(port, milliseconds) {
  let answers = 0;
  let failure;
  let running = true;
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(REQUEST)).setNoDelay(true);
    // Answers are small and never pipelined: one chunk is one answer.
    socket.on('data', (chunk) => {
      if (chunk.compare(EXPECTED, 0, EXPECTED.length, 0, EXPECTED.length) === 0) answers++;
      else failure ??= chunk.toString('latin1').split('\r\n')[0];
      if (running) socket.write(REQUEST);
    });
    socket.on('error', (error) => (failure ??= error.message));
    return socket;
  });
  const started = performance.now();
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  running = false;
  const elapsed = performance.now() - started;
  for (const socket of sockets) socket.destroy();
  if (failure) throw new Error(`the server answered ${failure}`);
  return (answers / elapsed) * 1_000;
}
