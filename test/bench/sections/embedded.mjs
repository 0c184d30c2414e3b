// Decisions of a two-plan chain in the process, beside the peers'.
import { atLeast } from '../report.mjs';
import { raceProcesses, start } from '../rounds.mjs';

export async function embedded(report) {
  const names = ['floodgate', 'observed', 'flexible', 'throttler'];
  const onRound = report.rounds('embedded decisions');
  const samples = await raceProcesses(names, (name) => start('embedded.mjs', name), { onRound });
  const against = (peer, other) =>
    report.compare(`two-plan decision, embedded, against ${peer}`, samples, ['floodgate', other], {
      target: atLeast(2),
    });
  against('rate-limiter-flexible', 'flexible');
  against('@nestjs/throttler', 'throttler');
  report.compare('the same, observed, against not', samples, ['observed', 'floodgate'], {
    target: atLeast(0.97),
  });
}
