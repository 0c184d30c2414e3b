// npm run bench [-- --json] [-- embedded keys http redis]
import { parseArgs } from 'node:util';
import { createFarm } from '../redis/farm.mjs';
import { load } from './load.mjs';
import { installPeers } from './peers/peer.mjs';
import { median, race, ratio, start } from './rounds.mjs';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
const wanted = (name) => positionals.length === 0 || positionals.includes(name);
const report = [];

function progress(text) {
  if (!flags.json) process.stderr.write(`\r\x1b[K${text}`);
}

function add(measure, rates, [one, other], target) {
  const { median: value, lowest, highest } = ratio(rates, one, other);
  report.push({
    measure,
    rates: [Math.round(median(rates[one])), Math.round(median(rates[other]))],
    ratio: value,
    spread: [lowest, highest],
    target,
  });
}

async function embedded() {
  const names = ['floodgate', 'flexible', 'throttler'];
  const processes = await Promise.all(names.map((name) => start('./embedded.mjs', name)));
  const contestants = Object.fromEntries(
    names.map((name, i) => [name, (milliseconds) => processes[i].slice(milliseconds)]),
  );
  const onRound = (round, rounds) => progress(`embedded decisions: round ${round} of ${rounds}`);
  const rates = await race(contestants, { onRound });
  processes.forEach(({ stop }) => stop());
  add(
    'two-plan decision, embedded, against rate-limiter-flexible',
    rates,
    ['floodgate', 'flexible'],
    2,
  );
  add(
    'two-plan decision, embedded, against @nestjs/throttler',
    rates,
    ['floodgate', 'throttler'],
    2,
  );
}

async function keys() {
  const counts = ['1', '1000', '100000'];
  const processes = await Promise.all(counts.map((n) => start('./embedded.mjs', 'floodgate', n)));
  const contestants = Object.fromEntries(
    counts.map((n, i) => [n, (milliseconds) => processes[i].slice(milliseconds)]),
  );
  const onRound = (round, rounds) => progress(`live keys: round ${round} of ${rounds}`);
  const rates = await race(contestants, { onRound });
  processes.forEach(({ stop }) => stop());
  add('100 000 live keys against 1 000', rates, ['100000', '1000'], undefined);
  add('all hits on one key against 1 000 keys', rates, ['1', '1000'], undefined);
}

async function http() {
  const modes = [
    'bare',
    'floodgate by address',
    'empty interceptor',
    'floodgate in the interceptor',
    'throttler',
  ];
  const processes = await Promise.all(modes.map((mode) => start('./http-app.mjs', mode)));
  const contestants = Object.fromEntries(
    modes.map((mode, i) => [mode, (milliseconds) => load(processes[i].port, milliseconds)]),
  );
  const onRound = (round, rounds) => progress(`Fastify route: round ${round} of ${rounds}`);
  const rates = await race(contestants, { onRound, rounds: 9, milliseconds: 700 });
  processes.forEach(({ stop }) => stop());
  add('Fastify route by address, of the bare route', rates, ['floodgate by address', 'bare'], 0.85);
  add(
    'Fastify route in the interceptor, of one with an empty interceptor',
    rates,
    ['floodgate in the interceptor', 'empty interceptor'],
    0.9,
  );
  add(
    'Fastify route with @nestjs/throttler, of the bare route',
    rates,
    ['throttler', 'bare'],
    undefined,
  );
}

async function shared() {
  const farm = createFarm();
  const { url } = await farm.single();
  const names = ['floodgate', 'flexible', 'empty script'];
  const processes = await Promise.all(names.map((name) => start('./shared.mjs', name, url)));
  const contestants = Object.fromEntries(
    names.map((name, i) => [name, (milliseconds) => processes[i].slice(milliseconds)]),
  );
  const onRound = (round, rounds) => progress(`decisions on Redis: round ${round} of ${rounds}`);
  const rates = await race(contestants, { onRound });
  processes.forEach(({ stop }) => stop());
  await farm.stop();
  add('two plans on Redis, against rate-limiter-flexible', rates, ['floodgate', 'flexible'], 2.2);
  add('two plans on Redis, against an empty script', rates, ['floodgate', 'empty script'], 1.1);
}

progress('installing the peers');
installPeers();
if (wanted('embedded')) await embedded();
if (wanted('keys')) await keys();
if (wanted('http')) await http();
if (wanted('redis')) await shared();
progress('');
if (flags.json) {
  console.log(JSON.stringify(report, null, 2));
} else {
  console.table(
    report.map(({ measure, rates: [one, other], ratio, spread, target }) => ({
      measure,
      'ours /s': one,
      'other /s': other,
      ratio: ratio.toFixed(2),
      'lowest-highest': spread.map((value) => value.toFixed(2)).join('-'),
      target: target === undefined ? '' : `>= ${target}`,
    })),
  );
}
