// @ts-check
// Tries mutants side by side, each worker in a copy of the tree.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyTree } from './tree.mjs';
import { endAll, runSpecs } from './trial.mjs';

const LONGEST_BASELINE_MS = 600_000;
/** A mutant may take this many times as long as the specs do without it, and a while to start. */
const PATIENCE = 3;
const START_MS = 15_000;
/** Specs of another room that take longer are left out. */
const SLOW_MS = 8_000;

/** @typedef {import('./mutants.mjs').Mutant} Mutant */
/** @typedef {import('./trial.mjs').Noticed} Noticed */
/** @typedef {{ mutant: Mutant, specs: string[] }} Task */
/** @typedef {Task & { noticed: Noticed, ms: number }} Result */

/**
 * @param {string} root
 * @param {number} count
 */
export function createWorkers(root, count) {
  const trees = Array.from({ length: count }, () => copyTree(root));

  /**
   * @template T
   * @param {readonly T[]} tasks
   * @param {(task: T, tree: ReturnType<typeof copyTree>) => Promise<void>} work
   */
  const share = async (tasks, work) => {
    const waiting = tasks.values();
    const one = async (/** @type {ReturnType<typeof copyTree>} */ tree) => {
      for (const task of waiting) await work(task, tree);
    };
    await Promise.all(trees.map(one));
  };

  /**
   * How long specs take without a mutant. Those that fail have no time.
   *
   * @param {readonly string[]} specs
   */
  const baseline = async (specs) => {
    /** @type {Map<string, number>} */
    const normalMs = new Map();
    const shares = trees.map((_, i) => specs.filter((__, at) => at % trees.length === i));
    await share(
      shares.filter((one) => one.length > 0),
      async (part, { folder }) => {
        const outcome = await runSpecs(folder, part, LONGEST_BASELINE_MS, { bail: false });
        for (const [spec, ms] of outcome.durations)
          if (!outcome.failed.includes(spec)) normalMs.set(spec, ms);
      },
    );
    return normalMs;
  };

  /**
   * @param {readonly Task[]} tasks
   * @param {ReadonlyMap<string, number>} normalMs
   * @param {(result: Result) => void} onResult
   * @param {number} [startMs] how long a run may take besides the specs
   */
  const tryAll = (tasks, normalMs, onResult, startMs = START_MS) =>
    share(tasks, async ({ mutant, specs }, { folder, write }) => {
      const usable = specs.filter((spec) => isUsable(spec, mutant.room, normalMs));
      const timeoutMs =
        startMs + PATIENCE * usable.reduce((sum, spec) => sum + (normalMs.get(spec) ?? 0), 0);
      write(mutant.path, mutant.text);
      const outcome = usable.length > 0 ? await runSpecs(folder, usable, timeoutMs) : NOT_RUN;
      write(mutant.path, readFileSync(join(root, mutant.path), 'utf8'));
      onResult({ mutant, specs: usable, noticed: outcome.noticed, ms: outcome.ms });
    });

  const close = () => {
    endAll();
    for (const tree of trees) tree.remove();
  };

  return { baseline, tryAll, close, folders: trees.map(({ folder }) => folder) };
}

const NOT_RUN = { noticed: undefined, ms: 0 };

/**
 * @param {string} spec
 * @param {string} room
 * @param {ReadonlyMap<string, number>} normalMs
 */
function isUsable(spec, room, normalMs) {
  const ms = normalMs.get(spec);
  if (ms === undefined) return false;
  return ms <= SLOW_MS || spec.startsWith(`test/${room}/`);
}
