// Contestants take turns in short slices, and ratios are taken within a round: on a machine whose
// speed wanders, neighbours in time are the only fair comparison.
import { fork } from 'node:child_process';

/** Starts a contestant that reports when it is ready and answers slices with samples. */
export async function start(script, ...args) {
  const child = fork(new URL(`./contestants/${script}`, import.meta.url), args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const reply = () =>
    new Promise((resolve, reject) => {
      const died = () => reject(new Error(`${script} ${args.join(' ')} ended early`));
      child.once('exit', died);
      child.once('message', (message) => {
        child.off('exit', died);
        resolve(message);
      });
    });
  const { port } = await reply();
  const ask = (message) => {
    child.send(message);
    return reply();
  };
  return {
    port,
    slice: (milliseconds) => ask({ milliseconds }),
    tidy: () => ask({ tidy: true }),
    stop: () => child.kill(),
  };
}

/**
 * Runs all contestants in turn, several rounds, the first of which only warms up.
 * `contestants` maps names to functions that run one slice. Returns the samples of every round.
 */
export async function race(contestants, { rounds = 7, milliseconds = 600, onRound } = {}) {
  const samples = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    onRound?.(round, rounds);
    for (const [name, slice] of rotated(Object.entries(contestants), round)) {
      const sample = await slice(milliseconds);
      if (round > 0) samples[name].push(sample);
    }
  }
  return samples;
}

/** Starts one process for each name, has them race, and stops them. */
export async function raceProcesses(names, startOne, { sliceOf, ...options } = {}) {
  const processes = await Promise.all(names.map(startOne));
  const slice = sliceOf ?? ((contestant, milliseconds) => contestant.slice(milliseconds));
  try {
    const contestants = names.map((name, i) => [
      name,
      (milliseconds) => slice(processes[i], milliseconds),
    ]);
    return await race(Object.fromEntries(contestants), options);
  } finally {
    processes.forEach(({ stop }) => stop());
  }
}

/** Whoever goes first finds the processor cooler, so that everybody does in turn. */
function rotated(entries, by) {
  const from = by % entries.length;
  return [...entries.slice(from), ...entries.slice(0, from)];
}

/** Median, lowest and highest of the ratios of two contestants within each round. */
export function ratio(samples, one, other, field) {
  const ratios = samples[one]
    .map((sample, round) => sample[field] / samples[other][round][field])
    .sort((a, b) => a - b);
  return { median: median(ratios), lowest: ratios[0], highest: ratios.at(-1) };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
