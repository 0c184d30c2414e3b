// npm run compat [-- --write]: installs the packed package in applications as people have them, asks
// them on every Node, and compares the outcome with the README's table, or writes that.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { formatSection, readSection, tableOf, writeSection } from '../support/readme-section.mjs';
import { makeApplication, makeBundle } from './application.mjs';
import { APPLICATIONS, BUNDLES, NODES } from './matrix.mjs';
import { nodes } from './nodes.mjs';
import { pack, RegistryUnreachableError } from './npm.mjs';
import { reportSize } from './size.mjs';
import { visit } from './visit.mjs';

const PROJECT = join(import.meta.dirname, '..', '..');
const SECTION = 'compatibility';
const isWriting = process.argv.includes('--write');
const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');
const run = promisify(execFile);

const folder = mkdtempSync(join(tmpdir(), 'floodgate-compat-'));
try {
  await main();
} catch (error) {
  report(error);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main() {
  const tarball = await pack(PROJECT, folder);
  await reportSize(tarball, isWriting);
  const [binaries, targets] = await allDone([
    nodes(NODES),
    makeTargets(join(folder, tarball.filename)),
  ]);
  const outcomes = await tryAll(targets, binaries);
  const table = await formatSection(
    `${tableOf(targets.map((target) => rowOf(target, outcomes)))}\n\n${packagesOf(targets)}`,
  );
  console.log(`\n${table}`);
  const failures = outcomes.filter(({ error }) => error);
  for (const { target, version, error } of failures)
    console.error(`\n${target.label} on Node ${version}: ${error.message}`);
  if (failures.length > 0) throw new Error(`${failures.length} of ${outcomes.length} failed.`);
  console.log(`${outcomes.length} tried, all well.`);
  if (isWriting) await writeSection(SECTION, table);
  else if (binaries.size === NODES.length && readSection(SECTION) !== table)
    throw new Error('The README has another table. Write it with: npm run compat -- --write');
}

/** The applications, and the bundles of some. */
async function makeTargets(tarball) {
  const made = new Map();
  const labelOf = (form, versions) => `Nest ${versions['@nestjs/core']}, ${form}`;
  const applications = APPLICATIONS.map(async ({ folder: name, form, tests }) => {
    const application = await makeApplication(name, tarball, folder);
    made.set(name, application);
    return { ...application, tests, label: labelOf(form, application.versions) };
  });
  const targets = await allDone(applications);
  for (const bundle of BUNDLES) {
    const application = await makeBundle(bundle, made.get(bundle.of), folder);
    targets.push({ ...application, label: labelOf(bundle.form, application.versions) });
  }
  return targets;
}

/** Waits for all even when one fails: their folder is removed next. */
async function allDone(promises) {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** Everything on every Node, as many at a time as there are processors. */
async function tryAll(targets, binaries) {
  const outcomes = targets.flatMap((target) =>
    [...binaries].flatMap(([version, node]) => trials(target, version, node)),
  );
  const waiting = outcomes.values();
  const worker = async () => {
    for (const outcome of waiting)
      outcome.error = await outcome.trial().then(() => undefined, asError);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return outcomes;
}

function trials(target, version, node) {
  const { home, main: file, tests } = target;
  const visiting = { target, version, what: 'runs', trial: () => visit(node, file, home) };
  if (!tests || isOlder(version, tests.since)) return [visiting];
  const testing = () =>
    run(node, tests.args, { cwd: home, timeout: 120_000, env: { PATH: process.env.PATH } });
  return [visiting, { target, version, what: tests.with, trial: testing }];
}

/** What npm adds to an application that has Nest on Express. */
function packagesOf(targets) {
  const counts = new Set(targets.flatMap(({ added }) => added ?? []));
  return `Installing it adds ${[...counts].join(' or ')} packages to such an application, itself included.`;
}

function rowOf(target, outcomes) {
  const row = { application: target.label };
  for (const outcome of outcomes) {
    if (outcome.target !== target) continue;
    const column = `Node ${outcome.version}`;
    const cell = outcome.error ? `${outcome.what}: FAILED` : outcome.what;
    row[column] = row[column] ? `${row[column]}, ${cell}` : cell;
  }
  return row;
}

/** Without a registry there is nothing to try. That is no failure of the package, unless in CI. */
function report(error) {
  if (error instanceof RegistryUnreachableError && !isCi) {
    console.warn(
      `\nSKIPPED: nothing was tried, since npm's registry does not answer.\n${error.message}`,
    );
    return;
  }
  console.error(`\n${error.message}`);
  process.exitCode = 1;
}

function asError(error) {
  return new Error(`${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`);
}

function isOlder(version, other) {
  const [left, right] = [version, other].map((text) => text.split('.').map(Number));
  const at = left.findIndex((part, index) => part !== right[index]);
  return at >= 0 && left[at] < right[at];
}
