// @ts-check
// Two groups of specs: those that start a server, another process or a compiler, and the unit specs,
// which do not. What a spec imports decides, so that no list has to be kept.
import ts from 'typescript';
import { filesIn, importsOf, nodesOf, parseFile } from '../support/sources.mjs';

/** What starts processes, is a server that another file has started, or takes seconds. */
const STARTERS = new Set([
  'node:child_process',
  'node:cluster',
  'node:worker_threads',
  'playwright-core',
  'typescript',
  'test/redis/binary.mjs',
  'test/support/redis-servers.ts',
]);

/** Where test/global-setup.mjs says how to reach what it has started. */
const STARTED = /^TEST_REDIS_/;

/** Files that run in the process of a spec. What lib does when it is imported is no server. */
const TEST_FILES = /^(test|sample)\/.+\.(ts|mjs)$/;

/**
 * Every spec, with the reason why it is no unit spec.
 *
 * @param {string} root
 * @returns {Map<string, string | undefined>}
 */
export function reasonsBySpec(root) {
  const judge = judgeOf(root);
  const specs = filesIn(root, 'test', /\.spec\.ts$/);
  return new Map(specs.map((spec) => [spec, judge(spec)]));
}

/**
 * The specs that need no server, no other process and no compiler.
 *
 * @param {string} root
 */
export function unitSpecs(root) {
  return [...reasonsBySpec(root)].filter(([, reason]) => !reason).map(([spec]) => spec);
}

/**
 * @param {string} root
 * @returns {(spec: string) => string | undefined}
 */
function judgeOf(root) {
  /** @type {Map<string, { own: string | undefined, next: string[] }>} */
  const read = new Map();

  /** @param {string} path */
  const look = (path) => {
    const found = read.get(path) ?? readOne(root, path);
    read.set(path, found);
    return found;
  };

  return (spec) => {
    const reached = new Set([spec]);
    for (const path of reached) {
      const { own, next } = look(path);
      if (own) return path === spec ? own : `${path}: ${own}`;
      next.forEach((one) => reached.add(one));
    }
    return undefined;
  };
}

/**
 * @param {string} root
 * @param {string} path
 */
function readOne(root, path) {
  const source = parseFile(root, path);
  const imports = importsOf(root, source).filter(({ isTypeOnly }) => !isTypeOnly);
  const next = imports.map(({ to }) => to).filter((to) => TEST_FILES.test(to));
  return { own: starts(source, imports), next };
}

/**
 * @param {ts.SourceFile} source
 * @param {readonly import('../support/sources.mjs').Import[]} imports
 */
function starts(source, imports) {
  const starter = imports.find(({ to }) => STARTERS.has(to));
  if (starter) return `imports ${starter.to}`;
  for (const node of nodesOf(source)) {
    if (isListen(node)) return 'calls listen()';
    if (ts.isStringLiteral(node) && STARTED.test(node.text)) return `reads ${node.text}`;
  }
  return undefined;
}

/** @param {ts.Node} node */
function isListen(node) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  return node.expression.name.text === 'listen';
}
