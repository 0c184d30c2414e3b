import { checked } from '../core/check/check.js';
import { list } from '../core/check/containers.js';
import { optionError } from '../core/check/mistake.js';
import { aFunction } from '../core/check/values.js';
import type { ResponseSource } from './classify-response.js';
import { classifyResponse } from './classify-response.js';

/**
 * Tells how a response blocks the caller, by a built-in block type or a word of your own; undefined
 * when it does not, or when others shall decide. It answers at once, not by a promise.
 *
 * @example
 * const softBan: Classifier = ({ status, body }) =>
 *   status === 200 && body?.includes('prices are hidden') ? 'soft_ban' : undefined;
 */
export type Classifier = (response: ResponseSource) => string | undefined;

/** Checks a list of classifiers. */
export const classifierList = list<Classifier>(aFunction('a function of the response'), {
  expected: 'an array of functions',
});

/**
 * One classifier that asks your own in their order and then the built-in one; the first answer
 * counts. One of your own that throws has no opinion: it must not cost the caller a good response.
 */
export function withClassifiers(own: readonly Classifier[]): Classifier {
  const asked = checked(classifierList, own, optionError, ['classifiers']);
  return (response) => {
    for (const classifier of asked) {
      const type = opinionOf(classifier, response);
      if (type !== undefined) return type;
    }
    return classifyResponse(response);
  };
}

function opinionOf(classifier: Classifier, response: ResponseSource): string | undefined {
  try {
    const type: unknown = classifier(response);
    if (typeof type === 'string') return type === '' ? undefined : type;
    // The promise of an async function, by mistake: unheard, its failure would end the process.
    if (type) Promise.resolve(type).catch(() => undefined);
    return undefined;
  } catch {
    return undefined;
  }
}
