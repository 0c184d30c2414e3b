// The eight limits of a gateway, beside the chain of two plans: on one Redis and in the process.
import { Redis } from 'ioredis';
import { createFarm } from '../../redis/farm.mjs';
import { atMost } from '../report.mjs';
import { raceProcesses, start } from '../rounds.mjs';
import { measured } from './redis-figures.mjs';

// Two busy processes at a time feel everything else that runs on the machine.
const MANY_SHORT_ROUNDS = { rounds: 15, milliseconds: 300 };

const [DECIDING, RELEASING, TWO_PLANS] = ['eight limits', 'eight limits, released', 'two plans'];

export async function gateway(report) {
  const farm = createFarm();
  const { url } = await farm.single();
  const admin = new Redis(url);
  try {
    await crowd(report, url, admin);
    await alone(report, url, admin);
  } finally {
    admin.disconnect();
    await farm.stop();
  }
  await embedded(report);
}

/** Many callers at a time: decisions alone, with connections that stay open, and with their release. */
async function crowd(report, url, admin) {
  const names = [DECIDING, RELEASING, TWO_PLANS];
  const samples = await raced(names, url, admin, report.rounds('gateway on Redis'));
  const most = { target: atMost(5) };
  const add = (what, one, field, options) =>
    report.compare(`${what}, against two plans`, samples, [one, TWO_PLANS], {
      field,
      unit: 'µs',
      ...options,
    });
  add('eight limits on Redis', DECIDING, 'wallUs', most);
  add('… CPU of Redis', DECIDING, 'redisCpuUs', most);
  add('… time in scripts', DECIDING, 'scriptUs', most);
  add('… CPU of Node', DECIDING, 'nodeCpuUs', most);
  add('… commands sent', DECIDING, 'commands', { unit: '' });
  add('eight limits on Redis and their release', RELEASING, 'wallUs');
  add('… CPU of Redis', RELEASING, 'redisCpuUs');
  add('… time in scripts', RELEASING, 'scriptUs');
  add('… CPU of Node', RELEASING, 'nodeCpuUs');
  add('… commands sent', RELEASING, 'commands', { unit: '' });
}

/** One caller, whose chains travel alone. */
async function alone(report, url, admin) {
  const names = [DECIDING, TWO_PLANS].map((name) => `${name} by one`);
  const samples = await raced(names, url, admin, report.rounds('gateway on Redis, one caller'));
  const add = (what, field, options) =>
    report.compare(`${what}, against two plans`, samples, names, { field, unit: 'µs', ...options });
  add('eight limits on Redis, one caller', 'latencyUs', { target: atMost(5) });
  add('… CPU of Redis', 'redisCpuUs', { target: atMost(5) });
  add('… time in scripts', 'scriptUs');
  add('… commands sent', 'commands', { unit: '', target: atMost(1) });
}

async function raced(names, url, admin, onRound) {
  const sliceOf = async (contestant, milliseconds) => {
    const sample = await measured(contestant, milliseconds, admin);
    await contestant.tidy();
    return { ...sample, wallUs: 1_000_000 / sample.perSecond };
  };
  const startOne = (name) => start('gateway.mjs', name, url);
  return raceProcesses(names, startOne, { sliceOf, onRound, ...MANY_SHORT_ROUNDS });
}

async function embedded(report) {
  const onRound = report.rounds('gateway embedded');
  const names = ['gateway', 'floodgate'];
  const samples = await raceProcesses(names, (name) => start('embedded.mjs', name), { onRound });
  report.compare('eight limits embedded and their release, against two plans', samples, names);
}
