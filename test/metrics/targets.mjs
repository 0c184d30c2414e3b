// @ts-check
/** @typedef {import('./measure.mjs').Metrics} Metrics */
/** @typedef {{ what: string, value: number, atMost: number, isMet: boolean, found: string[] }} Target */

const CASTS_IN = 'lib/nest';

/**
 * What the project wants of its sources, and how far it is.
 *
 * @param {Metrics} metrics
 * @returns {Target[]}
 */
export function targetsOf({ rows, total, exports, cycles, crowded, long }) {
  const casts = rows.find(({ folder }) => folder === CASTS_IN)?.casts ?? 0;
  return [
    target('import cycles', cycles.length, 0, cycles.map(inARow)),
    target('median lines per file', total.perFile.median, 60),
    target('files over 250 lines', long.length, 0, long.map(pathAndLines)),
    target('folders with more than 25 files', crowded.length, 0, crowded.map(folderAndFiles)),
    target('p90 of lines per function', total.perFunction.p90, 15),
    target('exports of lib/index.ts', exports, 80),
    target(`as casts in ${CASTS_IN}`, casts, 40),
  ];
}

/**
 * @param {string} what
 * @param {number} value
 * @param {number} atMost
 * @param {string[]} found
 * @returns {Target}
 */
function target(what, value, atMost, found = []) {
  return { what, value, atMost, isMet: value <= atMost, found };
}

/** @param {string[]} files */
const inARow = (files) => files.join(', ');
/** @param {{ path: string, lines: number }} file */
const pathAndLines = ({ path, lines }) => `${path} (${lines})`;
/** @param {{ folder: string, files: number }} crowd */
const folderAndFiles = ({ folder, files }) => `${folder} (${files})`;
