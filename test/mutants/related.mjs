// @ts-check
// Which specs can notice a mutant, the likeliest first.
import { basename } from 'node:path';
import { filesIn, importGraph } from '../support/sources.mjs';

/** Specs farther away than the importers of a file go through so much that they tell little. */
const FARTHEST = 2;
const MOST_FROM_ELSEWHERE = 8;
/** They start processes and break servers, for minutes. */
const TOO_SLOW = /^test\/(faults|load|attack|bench|bundle|compare|sample|mutants)\/|\/processes\//;

/**
 * All specs of the room that import the file in some way, and the nearest of the other rooms.
 *
 * @param {string} root
 * @returns {(path: string, room: string) => string[]}
 */
export function relatedSpecs(root) {
  const files = ['lib', 'test'].flatMap((folder) => filesIn(root, folder, /\.(ts|mjs)$/));
  const importers = reversed(importGraph(root, files));
  return (path, room) => {
    const near = [...distances(importers, path)]
      .filter(([file]) => file.endsWith('.spec.ts') && !TOO_SLOW.test(file))
      .map(([file, distance]) => ({ file, rank: isNamesake(file, path) ? -1 : distance }))
      .sort((a, b) => a.rank - b.rank || (a.file < b.file ? -1 : 1));
    const own = near.filter(({ file }) => file.startsWith(`test/${room}/`));
    const elsewhere = near.filter(
      ({ file, rank }) => !file.startsWith(`test/${room}/`) && rank <= FARTHEST,
    );
    return [...own, ...elsewhere.slice(0, MOST_FROM_ELSEWHERE)].map(({ file }) => file);
  };
}

/** @param {import('../support/sources.mjs').ImportGraph} graph */
function reversed(graph) {
  /** @type {Map<string, string[]>} */
  const importers = new Map([...graph.keys()].map((file) => [file, []]));
  for (const [file, imports] of graph)
    for (const { to, isTypeOnly } of imports) if (!isTypeOnly) importers.get(to)?.push(file);
  return importers;
}

/**
 * How many files of lib are between a file and those that import it. Helpers of tests do not count.
 *
 * @param {ReadonlyMap<string, readonly string[]>} importers
 * @param {string} path
 */
function distances(importers, path) {
  const found = new Map([[path, 0]]);
  const queue = [path];
  for (const file of queue) {
    for (const importer of importers.get(file) ?? []) {
      if (found.has(importer)) continue;
      const step = importer.startsWith('lib/') ? 1 : 0;
      found.set(importer, (found.get(file) ?? 0) + step);
      queue.push(importer);
    }
  }
  return found;
}

/**
 * @param {string} spec
 * @param {string} path
 */
function isNamesake(spec, path) {
  return basename(spec).split('.')[0] === basename(path).split('.')[0];
}
