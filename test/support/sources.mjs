// @ts-check
// The source files of the project and what they import, as the TypeScript parser sees them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import ts from 'typescript';

/**
 * One import: where it leads (a path from the root, or the name of a package), and whether it is
 * gone once the types are.
 *
 * @typedef {{ to: string, isTypeOnly: boolean }} Import
 */

/**
 * All imports of all files, by path.
 *
 * @typedef {ReadonlyMap<string, readonly Import[]>} ImportGraph
 */

const PACKAGE = 'nestjs-floodgate';
const GENERATED = /^\/\/ Made from .* change /;

/**
 * The files below a folder, as sorted paths from the root.
 *
 * @param {string} root
 * @param {string} folder
 * @param {RegExp} [name] what the path must match
 */
export function filesIn(root, folder, name = /(?<!\.d)\.ts$/) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && name.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !path.includes('node_modules/'))
    .sort();
}

/**
 * @param {string} root
 * @param {string} path
 */
export function parseFile(root, path) {
  return parseText(path, readFileSync(join(root, path), 'utf8'));
}

/**
 * @param {string} path
 * @param {string} text
 */
export function parseText(path, text) {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

/**
 * Whether a script wrote the file, as its first line says.
 *
 * @param {string} text
 */
export function isGenerated(text) {
  return GENERATED.test(text);
}

/**
 * All nodes of a tree, a node before its children.
 *
 * @param {ts.Node} node
 * @returns {Generator<ts.Node>}
 */
export function* nodesOf(node) {
  yield node;
  /** @type {ts.Node[]} */
  const children = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) yield* nodesOf(child);
}

/**
 * @param {string} root
 * @param {readonly string[]} paths
 * @returns {ImportGraph}
 */
export function importGraph(root, paths) {
  return new Map(paths.map((path) => [path, importsOf(root, parseFile(root, path))]));
}

/**
 * @param {string} root
 * @param {ts.SourceFile} source
 * @returns {Import[]}
 */
export function importsOf(root, source) {
  const found = [];
  for (const node of nodesOf(source)) {
    const specifier = specifierOf(node);
    if (specifier === undefined) continue;
    found.push({ to: targetOf(root, source.fileName, specifier), isTypeOnly: isTypeOnly(node) });
  }
  return found;
}

/** @param {ts.Node} node */
function specifierOf(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node))
    return textOf(node.moduleSpecifier);
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    return textOf(node.argument.literal);
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return textOf(node.arguments[0]);
  return undefined;
}

/** @param {ts.Node | undefined} node */
function textOf(node) {
  return node && ts.isStringLiteralLike(node) ? node.text : undefined;
}

/** @param {ts.Node} node */
function isTypeOnly(node) {
  if (ts.isImportTypeNode(node)) return true;
  if (ts.isExportDeclaration(node)) return node.isTypeOnly || isAllTypes(node.exportClause);
  if (!ts.isImportDeclaration(node) || !node.importClause) return false;
  const { name, namedBindings, phaseModifier } = node.importClause;
  if (phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  return !name && isAllTypes(namedBindings);
}

/** @param {ts.NamedImportBindings | ts.NamedExportBindings | undefined} names */
function isAllTypes(names) {
  if (!names || !(ts.isNamedImports(names) || ts.isNamedExports(names))) return false;
  return names.elements.length > 0 && names.elements.every((one) => one.isTypeOnly);
}

/**
 * @param {string} root
 * @param {string} from
 * @param {string} specifier
 */
function targetOf(root, from, specifier) {
  if (specifier === PACKAGE) return 'lib/index.ts';
  if (!specifier.startsWith('.')) return entryPoint(root, specifier) ?? specifier;
  const path = relative(root, resolve(root, dirname(from), specifier))
    .split(sep)
    .join('/');
  const source = path.replace(/\.js$/, '.ts');
  return existsSync(join(root, source)) ? source : path;
}

/**
 * The samples and some specs import the package as an application does.
 *
 * @param {string} root
 * @param {string} specifier
 */
function entryPoint(root, specifier) {
  if (!specifier.startsWith(`${PACKAGE}/`)) return undefined;
  const name = specifier.slice(PACKAGE.length + 1);
  const paths = [`lib/${name}/index.ts`, `lib/observe/${name}/index.ts`];
  return paths.find((path) => existsSync(join(root, path)));
}
