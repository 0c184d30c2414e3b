// A process that connects again and again to servers that break off in every way.
// Called with the state of the library and, as JSON, `{ ports, tls, via }`; reports when it is told that
// it was enough.
const [index, given] = process.argv.slice(2);
const { ports, tls, via } = JSON.parse(given);
const lib = new URL('.', index).href;
const { connect } = await import(`${lib}redis/connect.js`);
const { serversOf } = await import(`${lib}redis/servers-of.js`);

/** The ways to name a server. */
const sources = {
  server: (port) => ({ host: '127.0.0.1', port, tls }),
  url: (port) => `rediss://127.0.0.1:${port}`,
  cluster: (port) => ({ nodes: [{ host: '127.0.0.1', port }], redisOptions: { tls } }),
  sentinel: (port) => ({
    sentinels: [{ host: '127.0.0.1', port }],
    name: 'master',
    sentinelTLS: tls,
  }),
};

const reports = Object.entries(ports).map(([stage, port]) => {
  const servers = serversOf(connect(sources[via](port)));
  const report = { stage, unheard: 0 };
  servers.client.on('close', () => {
    if (servers.client.stream?.listenerCount('error') === 0) report.unheard++;
  });
  return report;
});
process.stdin.once('data', () => {
  console.log(JSON.stringify(reports));
  process.exit(0);
});
