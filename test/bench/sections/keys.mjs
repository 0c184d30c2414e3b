// Embedded decisions while few or many keys are live.
import { raceProcesses, start } from '../rounds.mjs';

export async function keys(report) {
  const counts = ['1', '1000', '100000'];
  const startOne = (count) => start('embedded.mjs', 'floodgate', count);
  const samples = await raceProcesses(counts, startOne, { onRound: report.rounds('live keys') });
  report.compare('100 000 live keys against 1 000', samples, ['100000', '1000']);
  report.compare('all hits on one key against 1 000 keys', samples, ['1', '1000']);
}
