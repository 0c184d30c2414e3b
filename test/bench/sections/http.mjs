// Requests per second of a bare Fastify route, with and without limits.
import { atLeast } from '../report.mjs';
import { raceProcesses, start } from '../rounds.mjs';
import { load } from './load.mjs';

export async function http(report) {
  const modes = [
    'bare',
    'floodgate by address',
    'empty interceptor',
    'floodgate in the interceptor',
    'throttler',
  ];
  const samples = await raceProcesses(modes, (mode) => start('http-app.mjs', mode), {
    sliceOf: async ({ port }, milliseconds) => ({ perSecond: await load(port, milliseconds) }),
    onRound: report.rounds('Fastify route'),
    rounds: 9,
    milliseconds: 700,
  });
  report.compare(
    'Fastify route by address, of the bare route',
    samples,
    ['floodgate by address', 'bare'],
    { target: atLeast(0.85) },
  );
  report.compare(
    'Fastify route in the interceptor, of one with an empty interceptor',
    samples,
    ['floodgate in the interceptor', 'empty interceptor'],
    { target: atLeast(0.9) },
  );
  report.compare('Fastify route with @nestjs/throttler, of the bare route', samples, [
    'throttler',
    'bare',
  ]);
}
