// @ts-check
// Runs specs in a copy of the tree, and tells which one fails first.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { clearTimeout, setTimeout } from 'node:timers';

/** @typedef {{ by: string, test: string } | undefined} Noticed */
/** @typedef {{ noticed: Noticed, durations: Map<string, number>, failed: string[] }} Verdict */
const NODE_FLAGS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
const JEST = 'node_modules/jest/bin/jest.js';
const CONFIG = 'test/mutants/jest.config.mjs';
const REPORT = 'node_modules/.cache/report.jsonl';

/** Groups of processes that run now. Each is the leader of a group, with what its specs start.
 * @type {Set<number>} */
const running = new Set();

/** Ends what still runs. */
export function endAll() {
  for (const group of running) kill(group);
}

/**
 * Runs the specs one after another in the given order. The first that fails ends the run, and so
 * does the time.
 *
 * @param {string} folder
 * @param {readonly string[]} specs
 * @param {number} timeoutMs
 * @param {{ bail?: boolean }} [options]
 * @returns {Promise<Verdict & { ms: number }>}
 */
export async function runSpecs(folder, specs, timeoutMs, { bail = true } = {}) {
  writeFileSync(join(folder, REPORT), '');
  const started = performance.now();
  const end = await run(folder, specs, timeoutMs, bail);
  return { ...read(folder, end), ms: performance.now() - started };
}

/**
 * @param {string} folder
 * @param {readonly string[]} specs
 * @param {number} timeoutMs
 * @param {boolean} bail
 * @returns {Promise<'passed' | 'failed' | 'timeout'>}
 */
function run(folder, specs, timeoutMs, bail) {
  const flags = ['--config', CONFIG, '--runInBand', '--forceExit', ...(bail ? ['--bail'] : [])];
  const args = [...NODE_FLAGS, JEST, ...flags, '--runTestsByPath', ...specs];
  const told = { MUTANT_SPECS: JSON.stringify(specs), MUTANT_REPORT: join(folder, REPORT) };
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, ...told },
    stdio: 'ignore',
    detached: true,
  });
  const group = /** @type {number} */ (child.pid);
  running.add(group);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end('timeout'), timeoutMs);
    /** @param {'passed' | 'failed' | 'timeout'} how */
    const end = (how) => {
      clearTimeout(timer);
      running.delete(group);
      kill(group); // With what the specs have left.
      resolve(how);
    };
    child.once('error', reject);
    child.once('exit', (code) => end(code === 0 ? 'passed' : 'failed'));
  });
}

/** @param {number} group of processes that {@link run} has started */
function kill(group) {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

/**
 * @param {string} folder
 * @param {'passed' | 'failed' | 'timeout'} end
 * @returns {Verdict}
 */
function read(folder, end) {
  const text = readFileSync(join(folder, REPORT), 'utf8').trim();
  /** @type {import('./reporter.mjs').Line[]} */
  const lines = text === '' ? [] : text.split('\n').map((line) => JSON.parse(line));
  const results = lines.map((line) => ({ ...line, spec: relative(folder, line.spec) }));
  const failed = results.filter(({ isFailed }) => isFailed);
  return {
    noticed: noticedBy(failed, end),
    durations: new Map(results.map(({ spec, ms }) => [spec, ms])),
    failed: failed.map(({ spec }) => spec),
  };
}

/**
 * @param {readonly import('./reporter.mjs').Line[]} failed
 * @param {'passed' | 'failed' | 'timeout'} end
 * @returns {Noticed}
 */
function noticedBy([first], end) {
  if (first) return { by: first.spec, test: first.test ?? '' };
  if (end === 'timeout') return { by: 'timeout', test: 'did not end' };
  return end === 'failed' ? { by: 'crash', test: 'the test runner ended' } : undefined;
}
