// Clients in a process of their own, each on a connection that it keeps: the next request follows the
// answer. Started by `startApp` with { port, connections }; `begin` floods until `end`, which counts
// the answers.
import { connect } from 'node:net';

const { port, connections } = JSON.parse(process.argv[2]).options;

function client(number, statuses, isOver) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const request = `GET / HTTP/1.1\r\nhost: a\r\nx-client: ${number}\r\n\r\n`;
    const ask = () => (isOver() ? socket.destroy() : socket.write(request));
    socket.on('connect', ask);
    socket.on('data', (data) => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1];
      if (status === undefined) return;
      statuses[status] = (statuses[status] ?? 0) + 1;
      ask();
    });
    socket.on('error', (error) => (statuses[error.code] = (statuses[error.code] ?? 0) + 1));
    socket.on('close', resolve);
  });
}

const statuses = {};
let over = false;
let clients = [];

const actions = {
  begin() {
    clients = Array.from({ length: connections }, (_, i) => client(i, statuses, () => over));
  },
  /** Answers that are still due end their connections. */
  async end() {
    over = true;
    const late = new Promise((resolve) => setTimeout(resolve, 5_000));
    await Promise.race([Promise.all(clients), late]);
    return statuses;
  },
};

process.on('message', async ({ id, method }) => {
  process.send({ id, answer: await actions[method]() });
});
process.on('disconnect', () => process.exit());
process.send({ id: 0, answer: 'ready' });
