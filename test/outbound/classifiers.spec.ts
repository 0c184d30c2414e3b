import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError } from '../../lib/core/errors.js';
import type { Classifier } from '../../lib/outbound/classifiers.js';
import { withClassifiers } from '../../lib/outbound/classifiers.js';

const FORBIDDEN = { status: 403, headers: {}, body: 'prices are hidden' };
const GOOD = { status: 200, headers: {}, body: 'prices' };

const softBan: Classifier = ({ body }) => (body?.includes('hidden') ? 'soft_ban' : undefined);
const silent: Classifier = () => undefined;
const broken: Classifier = () => {
  throw new Error('broken');
};

describe('classifiers', () => {
  it.each<[string, Classifier[], string | undefined, string | undefined]>([
    ['none', [], '403_forbidden', undefined],
    ['one of the user', [softBan], 'soft_ban', undefined],
    ['one without an opinion', [silent], '403_forbidden', undefined],
    ['the first with an opinion', [silent, softBan, () => 'other'], 'soft_ban', 'other'],
    ['one that throws', [broken], '403_forbidden', undefined],
    ['one behind one that throws', [broken, softBan], 'soft_ban', undefined],
    ['one that says a built-in word', [() => 'timeout'], 'timeout', 'timeout'],
  ])('with %s', (_what, own, forbidden, good) => {
    const classify = withClassifiers(own);
    expect(classify(FORBIDDEN)).toBe(forbidden);
    expect(classify(GOOD)).toBe(good);
  });

  it('see the response itself', () => {
    const seen: unknown[] = [];
    withClassifiers([(response) => void seen.push(response)])(GOOD);
    expect(seen).toEqual([GOOD]);
    expect(seen[0]).toBe(GOOD);
  });

  it.each([null, '', 0, 7, true, {}, ['soft_ban'], Promise.resolve('soft_ban')])(
    'that answer with anything but a word have no opinion (case %#)',
    (answer) => {
      const classify = withClassifiers([(() => answer) as unknown as Classifier]);
      expect(classify(FORBIDDEN)).toBe('403_forbidden');
      expect(classify(GOOD)).toBeUndefined();
    },
  );

  it('that are asynchronous by mistake fail unheard', async () => {
    const failures: unknown[] = [];
    const note = (reason: unknown) => failures.push(reason);
    process.on('unhandledRejection', note);
    try {
      const late = (() => Promise.reject(new Error('late'))) as unknown as Classifier;
      expect(withClassifiers([late])(GOOD)).toBeUndefined();
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(failures).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('are those that were given, not those that are in the list later', () => {
    const own: Classifier[] = [];
    const classify = withClassifiers(own);
    own.push(() => 'late');
    expect(classify(GOOD)).toBeUndefined();
  });

  it.each([undefined, null, 'soft_ban', {}])('cannot be %j', (value) => {
    const build = () => withClassifiers([silent, value as Classifier]);
    expect(build).toThrow(InvalidOptionError);
    expect(build).toThrow(
      `Expected \`classifiers[1]\` to be a function of the response, got ${JSON.stringify(value)}.`,
    );
  });
});
