// Decisions of a two-plan chain on one Redis: how many, how soon, and what they cost on both sides.
import { Redis } from 'ioredis';
import { createFarm } from '../../redis/farm.mjs';
import { atLeast, atMost } from '../report.mjs';
import { raceProcesses, start } from '../rounds.mjs';
import { measured, sizeOf } from './redis-figures.mjs';

// Two busy processes at a time feel everything else that runs on the machine.
const MANY_SHORT_ROUNDS = { rounds: 15, milliseconds: 300 };

export async function redis(report) {
  const farm = createFarm();
  const { url } = await farm.single();
  const admin = new Redis(url);
  try {
    await crowd(report, url, admin);
    await alone(report, url);
    await sizes(report, url, admin);
  } finally {
    admin.disconnect();
    await farm.stop();
  }
}

/** Many callers at a time, everybody on the same server in turn. */
async function crowd(report, url, admin) {
  const names = ['floodgate', 'flexible', 'throttler', 'empty script', 'floodgate denying'];
  const samples = await raceProcesses(names, (name) => start('redis.mjs', name, url), {
    sliceOf: (contestant, milliseconds) => measured(contestant, milliseconds, admin),
    onRound: report.rounds('decisions on Redis'),
    ...MANY_SHORT_ROUNDS,
  });
  const compare = (measure, other, options) =>
    report.compare(measure, samples, ['floodgate', other], options);
  const each = (field, target) => ({ field, unit: 'µs', target });

  compare('two plans on Redis, against rate-limiter-flexible', 'flexible', {
    target: atLeast(2.2),
  });
  compare('two plans on Redis, against @nest-lab/throttler-storage-redis', 'throttler', {
    target: atLeast(2.5),
  });
  compare('two plans on Redis, against an empty script', 'empty script', { target: atLeast(1.1) });
  report.compare(
    'denials of one exhausted key, against what is allowed',
    samples,
    ['floodgate denying', 'floodgate'],
    { target: atLeast(10) },
  );
  compare(
    'time in scripts per decision, against rate-limiter-flexible',
    'flexible',
    each('scriptUs', atMost(0.9)),
  );
  compare(
    'CPU of Redis per decision, against rate-limiter-flexible',
    'flexible',
    each('redisCpuUs'),
  );
  compare('CPU of Node per decision, against rate-limiter-flexible', 'flexible', each('nodeCpuUs'));
  compare('CPU of Node per decision, against the throttler', 'throttler', each('nodeCpuUs'));
}

/** One caller, one decision at a time: what is added to the script's own round trip. */
async function alone(report, url) {
  const names = ['floodgate alone', 'script alone'];
  const samples = await raceProcesses(names, (name) => start('redis.mjs', name, url), {
    onRound: report.rounds('one caller alone'),
    ...MANY_SHORT_ROUNDS,
  });
  report.compare('latency of one caller alone, against its bare script', samples, names, {
    field: 'latencyUs',
    unit: 'µs',
    target: atMost(1.15),
  });
}

/** What one counter takes, of a key that has been hit once. */
async function sizes(report, url, admin) {
  report.progress('bytes per counter');
  await admin.flushall();
  const writers = ['floodgate', 'floodgate window', 'flexible'];
  const sizeBy = {};
  for (const name of writers) {
    const contestant = await start('redis.mjs', name, url, '1');
    await contestant.slice(1);
    contestant.stop();
    sizeBy[name] = await sizeOf(admin);
    await admin.flushall();
  }
  const add = (what, name) =>
    report.add({
      measure: `memory of ${what}, against rate-limiter-flexible's counter`,
      unit: 'bytes',
      ours: sizeBy[name],
      other: sizeBy.flexible,
      ratio: sizeBy[name] / sizeBy.flexible,
    });
  add('a token bucket', 'floodgate');
  add('a sliding window', 'floodgate window');
}
