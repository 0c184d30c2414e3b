// @ts-check
// What can be counted in a source tree without running it.
import { dirname } from 'node:path';
import ts from 'typescript';
import { filesIn, importsOf, isGenerated, nodesOf, parseFile } from '../support/sources.mjs';
import { cyclesOf } from './cycles.mjs';

const MOST_FILES = 25;
const MOST_LINES = 250;

/** @typedef {{ path: string, folder: string, lines: number, functions: number[], casts: number }} Measured */
/** @typedef {{ median: number, p90: number, max: number }} Spread */
/**
 * @typedef {{ folder: string, files: number, lines: number, perFile: Spread, perFunction: Spread,
 *   casts: number }} Row
 */
/**
 * @typedef {{ rows: Row[], total: Row, exports: number, cycles: string[][],
 *   crowded: { folder: string, files: number }[], long: { path: string, lines: number }[],
 *   generated: string[] }} Metrics
 */

/**
 * Measures `lib` of the project that is at `root`. Generated files count nowhere.
 *
 * @param {string} root
 * @returns {Metrics}
 */
export function measure(root) {
  const all = filesIn(root, 'lib').map((path) => parseFile(root, path));
  const sources = all.filter(({ text }) => !isGenerated(text));
  const measured = sources.map(measureFile);
  const index = sources.find(({ fileName }) => fileName === 'lib/index.ts');
  return {
    rows: [...groupBy(measured, ({ folder }) => folder)].map(([folder, files]) =>
      rowOf(folder, files),
    ),
    total: rowOf('all', measured),
    exports: index ? exportsOf(index) : 0,
    cycles: cyclesOf(new Map(sources.map((file) => [file.fileName, importsOf(root, file)]))),
    crowded: crowdedFolders(measured),
    long: measured.filter(({ lines }) => lines > MOST_LINES).map(pathAndLines),
    generated: all.filter(({ text }) => isGenerated(text)).map(({ fileName }) => fileName),
  };
}

/**
 * @param {ts.SourceFile} source
 * @returns {Measured}
 */
export function measureFile(source) {
  const code = codeLines(source);
  const functions = [];
  let casts = 0;
  for (const node of nodesOf(source)) {
    if (ts.isAsExpression(node) && !isConst(node.type)) casts++;
    const body = bodyOf(node);
    if (body) functions.push(linesOf(source, body, code));
  }
  return {
    path: source.fileName,
    folder: roomOf(source.fileName),
    lines: source.text.split('\n').length - 1,
    functions,
    casts,
  };
}

/**
 * How many names `lib/index.ts` exports, types included.
 *
 * @param {ts.SourceFile} index
 */
export function exportsOf(index) {
  let count = 0;
  for (const node of index.statements) {
    if (!ts.isExportDeclaration(node)) continue;
    if (!node.exportClause || !ts.isNamedExports(node.exportClause))
      throw new Error(`${index.fileName} exports without names: ${node.getText(index)}`);
    count += node.exportClause.elements.length;
  }
  return count;
}

/**
 * @param {readonly number[]} values
 * @returns {Spread}
 */
export function spreadOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  /** @param {number} share */
  const at = (share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { median: at(0.5), p90: at(0.9), max: at(1) };
}

/**
 * The block of a function, method, constructor or accessor. An arrow with an expression has none.
 *
 * @param {ts.Node} node
 */
function bodyOf(node) {
  if (!ts.isFunctionLike(node) || !('body' in node)) return undefined;
  const { body } = node;
  return body && ts.isBlock(body) ? body : undefined;
}

/**
 * Lines from `{` to `}`, both included, that hold code. A function within a function counts in both.
 *
 * @param {ts.SourceFile} source
 * @param {ts.Block} body
 * @param {ReadonlySet<number>} code
 */
function linesOf(source, body, code) {
  const first = lineAt(source, body.getStart(source));
  const last = lineAt(source, body.getEnd());
  let count = 0;
  for (let line = first; line <= last; line++) if (code.has(line)) count++;
  return count;
}

/**
 * The lines that hold something besides blanks and comments.
 *
 * @param {ts.SourceFile} source
 */
function codeLines(source) {
  /** @type {Set<number>} */
  const lines = new Set();
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    children.forEach(visit);
    if (children.length > 0 || node.getWidth(source) === 0) return;
    const last = lineAt(source, node.getEnd());
    for (let line = lineAt(source, node.getStart(source)); line <= last; line++) lines.add(line);
  };
  visit(source);
  return lines;
}

/**
 * @param {ts.SourceFile} source
 * @param {number} position
 */
function lineAt(source, position) {
  return source.getLineAndCharacterOfPosition(position).line;
}

/** @param {ts.TypeNode} type */
function isConst(type) {
  return ts.isTypeReferenceNode(type) && type.getText() === 'const';
}

/** @param {string} path */
function roomOf(path) {
  const parts = path.split('/');
  return parts.length > 2 ? `lib/${parts[1]}` : 'lib';
}

/** @param {Measured} file */
function pathAndLines({ path, lines }) {
  return { path, lines };
}

/** @param {readonly Measured[]} files */
function crowdedFolders(files) {
  return [...groupBy(files, ({ path }) => dirname(path))]
    .map(([folder, inside]) => ({ folder, files: inside.length }))
    .filter((one) => one.files > MOST_FILES);
}

/**
 * @param {string} folder
 * @param {readonly Measured[]} files
 * @returns {Row}
 */
function rowOf(folder, files) {
  return {
    folder,
    files: files.length,
    lines: files.reduce((sum, { lines }) => sum + lines, 0),
    perFile: spreadOf(files.map(({ lines }) => lines)),
    perFunction: spreadOf(files.flatMap(({ functions }) => functions)),
    casts: files.reduce((sum, { casts }) => sum + casts, 0),
  };
}

/**
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => string} keyOf
 */
function groupBy(items, keyOf) {
  /** @type {Map<string, T[]>} */
  const groups = new Map();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
