// npm run bench [-- --json] [-- --chart] [-- embedded keys http redis outbound gateway]
import { parseArgs } from 'node:util';
import { keep } from './chart.mjs';
import { installPeers } from './peers/peer.mjs';
import { Report } from './report.mjs';
import { embedded } from './sections/embedded.mjs';
import { gateway } from './sections/gateway.mjs';
import { http } from './sections/http.mjs';
import { keys } from './sections/keys.mjs';
import { outbound } from './sections/outbound.mjs';
import { redis } from './sections/redis.mjs';

const SECTIONS = { embedded, keys, http, redis, outbound, gateway };

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    chart: { type: 'boolean', default: false },
  },
});
const unknown = positionals.filter((name) => !(name in SECTIONS));
if (unknown.length > 0) {
  throw new Error(
    `No section ${unknown.join(', ')}; there are ${Object.keys(SECTIONS).join(', ')}.`,
  );
}

const report = new Report({ quiet: flags.json });
report.progress('installing the peers');
installPeers();
for (const [name, section] of Object.entries(SECTIONS)) {
  if (positionals.length === 0 || positionals.includes(name)) await section(report);
}
report.print({ asJson: flags.json });
if (flags.chart) keep(report.rows);
