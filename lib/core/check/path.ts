/** The way to a value in what was given: names of fields, and numbers of entries. */
export type Path = readonly (string | number)[];

const IDENTIFIER = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** The path as it is written in code: `routes[2].rateLimit.maxQps`, `domains["example.com"]`. */
export function pathText(path: Path): string {
  return path.map(stepText).join('').replace(/^\./, '');
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  return IDENTIFIER.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
}
