// A hook of Node's module loader: writes down what is imported by files of one folder.
import { appendFileSync } from 'node:fs';

const { IMPORTS_FROM: from, IMPORTS_LIST: list } = process.env;

export async function resolve(specifier, context, nextResolve) {
  const isBare = !specifier.startsWith('.') && !specifier.startsWith('file:');
  if (isBare && context.parentURL?.startsWith(from)) appendFileSync(list, `${specifier}\n`);
  return nextResolve(specifier, context);
}
