import { describe, expect, it } from '@jest/globals';
import type { Documented } from './support/documented-exports.js';
import { documentedExports } from './support/documented-exports.js';

/** Interfaces that users fill in, told by their names. */
const SETTINGS = /: \w*(Options|Extras|Rule|Definition|Modifiers|Config|Backend|Route|Limits)\./;

/** How sentences begin that need another one before them. */
const LEANING = /^(It|Its|They|Their|This|That|These|Those|See|Same|Also|And|But)\b/;

const documented = documentedExports();

/** The names of those that do not pass; empty when all do. */
function failing(passes: (one: Documented) => boolean, among = documented): string[] {
  return among.filter((one) => !passes(one)).map(({ name, comment }) => `${name} "${comment}"`);
}

function firstSentence({ comment }: Documented): string {
  return /^.*?\.(?=\s|$)/s.exec(comment)?.[0] ?? '';
}

describe('the doc comments of what is exported', () => {
  it('are there, for every export and every member of one', () => {
    expect(documented.length).toBeGreaterThan(400);
    expect(failing(({ comment }) => comment.trim() !== '')).toEqual([]);
  });

  it('begin with a sentence that ends before the first paragraph does', () => {
    expect(failing((one) => /^[^]+\.$/.test(firstSentence(one)))).toEqual([]);
    expect(failing((one) => !firstSentence(one).includes('\n\n'))).toEqual([]);
  });

  it('begin with a sentence that stands alone', () => {
    expect(failing((one) => /^[A-Z`−0-9]/.test(firstSentence(one)))).toEqual([]);
    expect(failing((one) => firstSentence(one).split(/\s+/).length >= 3)).toEqual([]);
    expect(failing((one) => !LEANING.test(one.comment))).toEqual([]);
  });

  it('say what holds without an option', () => {
    const options = documented.filter(({ name, isOption }) => isOption && SETTINGS.test(name));
    expect(options.length).toBeGreaterThan(40);
    expect(failing(({ defaultValue }) => Boolean(defaultValue?.trim()), options)).toEqual([]);
  });

  it('name no default of what cannot be left out', () => {
    const required = documented.filter(({ name, isOption }) => !isOption && SETTINGS.test(name));
    expect(failing(({ defaultValue }) => defaultValue === undefined, required)).toEqual([]);
  });
});
