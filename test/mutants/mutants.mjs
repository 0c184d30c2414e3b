// @ts-check
// Which mutants are tried: a sample of all mutations of a room that still compile.
import { filesIn, isGenerated, parseFile } from '../support/sources.mjs';
import { createCompiler } from './compiler.mjs';
import { applyMutation, mutationsOf } from './mutations.mjs';
import { shuffled } from './random.mjs';

/**
 * One broken line. `text` is the whole file with it.
 *
 * @typedef {{ room: string, path: string, line: number, column: number, kind: string, was: string, now: string,
 *   text: string }} Mutant
 */

/** The page of the dashboard is a program of its own, which runs in a browser. */
const ELSEWHERE = /^lib\/dashboard\/page\//;
const LONGEST_QUOTE = 70;

/**
 * The first `count` mutants of each room in the order that the seed decides.
 *
 * @param {string} root
 * @param {{ rooms: readonly string[], count: number, seed: number }} options
 * @returns {Mutant[]}
 */
export function sampleMutants(root, { rooms, count, seed }) {
  const program = filesIn(root, 'lib').filter((path) => !ELSEWHERE.test(path));
  const complaint = createCompiler(root, program);
  return rooms.flatMap((room) => {
    const chosen = [];
    for (const mutant of shuffled(mutantsOf(root, room), seed)) {
      if (chosen.length === count) break;
      if (complaint(mutant.path, mutant.text) === undefined) chosen.push(mutant);
    }
    return chosen;
  });
}

/**
 * @param {string} root
 * @param {string} room
 * @returns {Mutant[]}
 */
export function mutantsOf(root, room) {
  const paths = filesIn(root, `lib/${room}`).filter((path) => !ELSEWHERE.test(path));
  return paths.flatMap((path) => {
    const source = parseFile(root, path);
    if (isGenerated(source.text)) return [];
    return mutationsOf(source).map((mutation) => {
      const { start, end, kind, text } = mutation;
      const at = source.getLineAndCharacterOfPosition(start);
      const [line, column] = [at.line + 1, at.character + 1];
      const was = quote(source.text.slice(start, end)) || lineOf(source.text, start);
      return {
        room,
        path,
        line,
        column,
        kind,
        was,
        now: quote(text),
        text: applyMutation(source.text, mutation),
      };
    });
  });
}

/** @param {string} text */
function quote(text) {
  const short = text.replace(/\s+/g, ' ').trim();
  return short.length > LONGEST_QUOTE ? `${short.slice(0, LONGEST_QUOTE)}…` : short;
}

/**
 * @param {string} text
 * @param {number} position
 */
function lineOf(text, position) {
  return quote(text.slice(text.lastIndexOf('\n', position) + 1).split('\n', 1)[0] ?? '');
}
