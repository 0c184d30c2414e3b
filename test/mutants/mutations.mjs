// @ts-check
// The ways to break a source file in one place, each as a piece of text to put in place of another.
import ts from 'typescript';
import { nodesOf } from '../support/sources.mjs';

const { SyntaxKind } = ts;

/**
 * `text` goes where the characters from `start` to `end` were.
 *
 * @typedef {{ kind: string, start: number, end: number, text: string }} Mutation
 */

/** What an operator becomes: off by one or turned round, its opposite, the other one of a pair. */
const OPERATORS = new Map([
  [SyntaxKind.LessThanToken, ['<=', '>=']],
  [SyntaxKind.LessThanEqualsToken, ['<', '>']],
  [SyntaxKind.GreaterThanToken, ['>=', '<=']],
  [SyntaxKind.GreaterThanEqualsToken, ['>', '<']],
  [SyntaxKind.EqualsEqualsEqualsToken, ['!==']],
  [SyntaxKind.ExclamationEqualsEqualsToken, ['===']],
  [SyntaxKind.AmpersandAmpersandToken, ['||']],
  [SyntaxKind.BarBarToken, ['&&']],
  [SyntaxKind.PlusToken, ['-']],
  [SyntaxKind.MinusToken, ['+']],
  [SyntaxKind.AsteriskToken, ['/']],
  [SyntaxKind.SlashToken, ['*']],
  [SyntaxKind.PlusEqualsToken, ['-=']],
  [SyntaxKind.MinusEqualsToken, ['+=']],
]);

/** In place of a statement: `if (a) ;` would not compile. */
const NOTHING = '{}';

const COMPARISONS = new Set([
  SyntaxKind.LessThanToken,
  SyntaxKind.LessThanEqualsToken,
  SyntaxKind.GreaterThanToken,
  SyntaxKind.GreaterThanEqualsToken,
  SyntaxKind.EqualsEqualsEqualsToken,
  SyntaxKind.ExclamationEqualsEqualsToken,
]);

/** Methods that have an opposite. */
const OPPOSITES = new Map([
  ['max', 'min'],
  ['min', 'max'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['some', 'every'],
  ['every', 'some'],
]);

/**
 * All mutations of a file, in the order of the file. Types, imports and decorators are left alone,
 * and texts: what a message says is not worth a test each.
 *
 * @param {ts.SourceFile} source
 * @returns {Mutation[]}
 */
export function mutationsOf(source) {
  const found = [];
  for (const node of nodesOf(source)) {
    if (isOutOfReach(node)) continue;
    for (const make of MAKERS) found.push(...make(node, source));
  }
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

/**
 * @param {string} text
 * @param {Mutation} mutation
 */
export function applyMutation(text, { start, end, text: replacement }) {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** @type {((node: ts.Node, source: ts.SourceFile) => Mutation[])[]} */
const MAKERS = [
  operators,
  conditions,
  calls,
  assignments,
  constants,
  returns,
  early,
  opposites,
  negations,
];

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function operators(node, source) {
  if (!ts.isBinaryExpression(node)) return [];
  const { operatorToken } = node;
  const kind = `operator ${operatorToken.getText(source)}`;
  const others = OPERATORS.get(operatorToken.kind) ?? [];
  return others.map((text) => mutation(kind, operatorToken, source, text));
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function conditions(node, source) {
  const condition = conditionOf(node);
  if (!condition) return [];
  const texts = ['false'];
  if (!isComparison(condition)) texts.push(`!(${condition.getText(source)})`);
  // A loop without an end says nothing.
  if (!ts.isWhileStatement(node) && !ts.isForStatement(node)) texts.push('true');
  return texts.map((text) => mutation('condition', condition, source, text));
}

/**
 * Its operator turned round is its negation already.
 *
 * @param {ts.Expression} condition
 */
function isComparison(condition) {
  if (!ts.isBinaryExpression(condition)) return false;
  const { kind } = condition.operatorToken;
  return COMPARISONS.has(kind);
}

/** @param {ts.Node} node */
function conditionOf(node) {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) return node.expression;
  if (ts.isConditionalExpression(node) || ts.isForStatement(node)) return node.condition;
  return undefined;
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function calls(node, source) {
  if (!ts.isExpressionStatement(node) || !isCall(node.expression)) return [];
  return [mutation('call dropped', node, source, NOTHING)];
}

/**
 * @param {ts.Expression} expression
 * @returns {boolean}
 */
function isCall(expression) {
  if (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression))
    return isCall(expression.expression);
  if (!ts.isCallExpression(expression)) return false;
  return expression.expression.kind !== SyntaxKind.SuperKeyword;
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function assignments(node, source) {
  if (!ts.isExpressionStatement(node)) return [];
  const { expression } = node;
  const dropped = mutation('assignment dropped', node, source, NOTHING);
  if (ts.isBinaryExpression(expression) && isAssignment(expression.operatorToken.kind))
    return [dropped];
  if (ts.isDeleteExpression(expression)) return [dropped];
  return isStep(expression) ? [dropped] : [];
}

/** @param {ts.Expression} node such as `count++` */
function isStep(node) {
  if (!ts.isPostfixUnaryExpression(node) && !ts.isPrefixUnaryExpression(node)) return false;
  return node.operator === SyntaxKind.PlusPlusToken || node.operator === SyntaxKind.MinusMinusToken;
}

/** @param {ts.SyntaxKind} kind */
function isAssignment(kind) {
  return kind >= SyntaxKind.FirstAssignment && kind <= SyntaxKind.LastAssignment;
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function constants(node, source) {
  const kind = 'constant';
  if (node.kind === SyntaxKind.TrueKeyword) return [mutation(kind, node, source, 'false')];
  if (node.kind === SyntaxKind.FalseKeyword) return [mutation(kind, node, source, 'true')];
  if (!ts.isNumericLiteral(node)) return [];
  return [mutation(kind, node, source, otherNumber(Number(node.text)))];
}

/** @param {number} value */
function otherNumber(value) {
  if (value === 1) return '0';
  return String(value < 10 ? value + 1 : value * 2);
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function returns(node, source) {
  if (!ts.isReturnStatement(node)) return [];
  return [mutation('return dropped', node, source, evaluated(node, source))];
}

/**
 * What is returned is still evaluated.
 *
 * @param {ts.ReturnStatement} node
 * @param {ts.SourceFile} source
 */
function evaluated({ expression }, source) {
  return expression ? `void (${expression.getText(source)});` : NOTHING;
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function early(node, source) {
  if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return [];
  const { body } = node;
  if (!ts.isBlock(body) || body.statements.length === 0) return [];
  if (ts.isConstructorDeclaration(node)) return [];
  const start = body.getStart(source) + 1;
  return [{ kind: 'early return', start, end: start, text: ' return;' }];
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function opposites(node, source) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return [];
  const { name } = node.expression;
  const opposite = OPPOSITES.get(name.text);
  return opposite ? [mutation(`call of ${name.text}`, name, source, opposite)] : [];
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function negations(node, source) {
  if (!ts.isPrefixUnaryExpression(node) || node.operator !== SyntaxKind.ExclamationToken) return [];
  return [mutation('negation dropped', node, source, `(${node.operand.getText(source)})`)];
}

/** @param {ts.Node} node */
function isOutOfReach(node) {
  for (let at = node; at; at = at.parent) {
    if (ts.isTypeNode(at) || ts.isDecorator(at) || ts.isEnumDeclaration(at)) return true;
    if (ts.isStatement(at)) return false;
  }
  return false;
}

/**
 * @param {string} kind
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 * @param {string} text
 * @returns {Mutation}
 */
function mutation(kind, node, source, text) {
  return { kind, start: node.getStart(source), end: node.getEnd(), text };
}
