// What waiting for a domain costs when there is nothing to wait for, and what a live domain takes.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { atMost } from '../report.mjs';
import { raceProcesses, start } from '../rounds.mjs';

/** What would still be acceptable: 10 MB for 100 domains. */
const ALLOWED_BYTES = 100_000;
const AIM_BYTES = 1_000;

export async function outbound(report) {
  const onRound = report.rounds('waits that need not wait');
  const names = ['wait', 'decision'];
  const samples = await raceProcesses(names, (name) => start('outbound.mjs', name), { onRound });
  report.compare('wait that need not wait, against a decision of one plan', samples, names);
  report.progress('memory of live domains');
  const script = new URL('../contestants/outbound-memory.mjs', import.meta.url);
  const bytes = Number(execFileSync(process.execPath, ['--expose-gc', fileURLToPath(script)]));
  report.add({
    measure: `memory of a live domain, of what is allowed; the aim is ${AIM_BYTES}`,
    unit: 'bytes',
    ours: bytes,
    other: ALLOWED_BYTES,
    ratio: bytes / ALLOWED_BYTES,
    target: atMost(AIM_BYTES / ALLOWED_BYTES),
  });
}
