import { describe, expect, it } from '@jest/globals';
import type { Check } from '../../../lib/core/check/check.js';
import { checked } from '../../../lib/core/check/check.js';
import { closestName } from '../../../lib/core/check/closest-name.js';
import { list, object } from '../../../lib/core/check/containers.js';
import { optionError } from '../../../lib/core/check/mistake.js';
import { pathText } from '../../../lib/core/check/path.js';
import {
  aFunction,
  flag,
  oneOf,
  optional,
  secret,
  text,
  wholeNumber,
  withDefault,
} from '../../../lib/core/check/values.js';
import { quote, RateLimitError } from '../../../lib/core/errors.js';

interface Route {
  readonly host: string;
  readonly maxQps?: number;
}

interface Settings {
  readonly routes?: readonly Route[];
  readonly watch: boolean;
  readonly onFailure: 'open' | 'closed' | 'local';
  readonly key?: string;
  readonly notify?: () => void;
}

const route = object<Route>({ host: text('a host'), maxQps: optional(wholeNumber(1, 10)) });
const settings = object<Settings>({
  routes: optional(list(route, { expected: 'a list of routes', most: 2, advice: 'Use "*".' })),
  watch: withDefault(flag, true),
  onFailure: withDefault(oneOf('open', 'closed', 'local'), 'open'),
  key: optional(secret(text('a key', /^[a-z]+$/))),
  notify: optional(aFunction('a function')),
});

const take = (value: unknown) => checked(settings, value, (mistake) => optionError(mistake, 'all'));

function errorOf(value: unknown, check: (value: unknown) => unknown = take): RateLimitError {
  try {
    check(value);
  } catch (error) {
    expect(error).toBeInstanceOf(RateLimitError);
    return error as RateLimitError;
  }
  throw new Error('nothing was thrown');
}

describe('a check', () => {
  it('returns what it was given, with defaults', () => {
    const notify = () => undefined;
    expect(take({})).toStrictEqual({ watch: true, onFailure: 'open' });
    const given = { routes: [{ host: 'a.com', maxQps: 10 }], watch: false, key: 'abc', notify };
    expect(take(given)).toStrictEqual({ ...given, onFailure: 'open' });
    expect(take({ watch: undefined, key: undefined })).toStrictEqual(take({}));
  });

  it('leaves what it was given as it is', () => {
    const given = Object.freeze({ routes: Object.freeze([]) });
    expect(take(given).routes).not.toBe(given.routes);
    expect(given).toEqual({ routes: [] });
  });

  it.each<[value: unknown, path: (string | number)[], message: string]>([
    [
      7,
      [],
      'Expected `all` to be an object with "routes", "watch", "onFailure", "key", "notify", got 7.',
    ],
    [{ watch: 1 }, ['watch'], 'Expected `watch` to be true or false, got 1.'],
    [{ watch: null }, ['watch'], 'Expected `watch` to be true or false, got null.'],
    [
      { onFailure: 'opne' },
      ['onFailure'],
      'Expected `onFailure` to be "open", "closed" or "local", got "opne".',
    ],
    [{ routes: {} }, ['routes'], 'Expected `routes` to be a list of routes, got {}.'],
    [
      { routes: [1, 2, 3] },
      ['routes'],
      'Expected `routes` to be a list of routes with at most 2 entries, got 3.',
    ],
    [
      { routes: [{ host: 'a.com' }, ,] }, // eslint-disable-line no-sparse-arrays -- the hole is what is tested
      ['routes', 1],
      'Expected `routes[1]` to be an object with "host", "maxQps", got undefined.',
    ],
    [
      { routes: [{ host: 'a.com' }, { host: 'b.com', maxQps: 11 }] },
      ['routes', 1, 'maxQps'],
      'Expected `routes[1].maxQps` to be a whole number from 1 to 10, got 11.',
    ],
    [
      { routes: [{ maxQps: 1 }] },
      ['routes', 0, 'host'],
      'Expected `routes[0].host` to be a host, got undefined.',
    ],
    [
      { routes: [{ host: '' }] },
      ['routes', 0, 'host'],
      'Expected `routes[0].host` to be a host, got "".',
    ],
    [
      { routes: [{ host: 'a.com', max_qps: 1 }] },
      ['routes', 0, 'max_qps'],
      'routes[0]: unknown field "max_qps". Did you mean "maxQps"? Known fields: "host", "maxQps".',
    ],
    [
      { route: [] },
      ['route'],
      'Unknown field "route". Did you mean "routes"? ' +
        'Known fields: "routes", "watch", "onFailure", "key", "notify".',
    ],
    [
      { toString: 1 },
      ['toString'],
      'Unknown field "toString". Known fields: "routes", "watch", "onFailure", "key", "notify".',
    ],
    [
      JSON.parse('{"__proto__":{"watch":7}}'),
      ['__proto__'],
      'Unknown field "__proto__". Known fields: "routes", "watch", "onFailure", "key", "notify".',
    ],
    [
      { typo: undefined },
      ['typo'],
      'Unknown field "typo". Known fields: "routes", "watch", "onFailure", "key", "notify".',
    ],
    [{ key: 'hunter2' }, ['key'], 'Expected `key` to be a key, got "string".'],
    [{ notify: {} }, ['notify'], 'Expected `notify` to be a function, got {}.'],
  ])('refuses %j', (value, path, message) => {
    expect(errorOf(value)).toMatchObject({ code: 'INVALID_OPTION', path, message });
  });

  it('says what to do about too many', () => {
    const rooms: Check<unknown> = list(route, { expected: 'a list', most: 0, advice: 'Use "*".' });
    const error = errorOf([1], (value) =>
      checked(rooms, value, (one) => new RateLimitError('INVALID_OPTION', one.sentence('rooms'))),
    );
    expect(error.message).toBe('rooms must be a list with at most 0 entries, got 1. Use "*".');
  });

  it('starts from the path at which the value stands', () => {
    const error = errorOf({ watch: 1 }, (value) =>
      checked(settings, value, (mistake) => optionError(mistake), ['outbound', 'a b', 0]),
    );
    expect(error.path).toEqual(['outbound', 'a b', 0, 'watch']);
    expect(error.message).toContain('`outbound["a b"][0].watch`');
  });

  it('lets other errors pass', () => {
    const broken: Check<never> = () => {
      throw new RangeError('a mistake of the check');
    };
    expect(() => checked(broken, 1, (mistake) => optionError(mistake))).toThrow(RangeError);
  });
});

describe('a path', () => {
  it.each([
    [[], ''],
    [['routes', 2, 'rateLimit', 'maxQps'], 'routes[2].rateLimit.maxQps'],
    [[0, 'a'], '[0].a'],
    [['domains', 'example.com', 'burst_capacity'], 'domains["example.com"].burst_capacity'],
    [['$schema'], '$schema'],
    [['a\n"'], '["a\\n\\""]'],
  ])('%j is written %s', (path, written) => {
    expect(pathText(path)).toBe(written);
  });
});

describe('the name that was meant', () => {
  const known = ['requestsPerSecond', 'burstCapacity', 'maxQps', 'watch', 'plan', 'plans'];
  it.each([
    ['requests_per_second', 'requestsPerSecond'],
    ['REQUESTS-PER-SECOND', 'requestsPerSecond'],
    ['maxQPS', 'maxQps'],
    ['wacth', 'watch'],
    ['plan', 'plan'],
    ['planss', 'plans'],
    ['burst', undefined],
    ['', undefined],
    ['__', undefined],
  ])('for %s is %s', (name, meant) => {
    expect(closestName(name, known)).toBe(meant);
  });
});

describe('a name of a million letters', () => {
  it('is not compared', () => {
    expect(closestName('x'.repeat(1_000_000), ['x'])).toBeUndefined();
  });
});

describe('a quoted value', () => {
  it.each([
    ['redis://:hunter2@redis:6379', '"redis://***@redis:6379"'],
    ['rediss://me:a@b/c#d@redis', '"rediss://***@redis"'],
    [{ url: 'https://u:p@a.com/', port: 1 }, '{"url":"https://***@a.com/","port":1}'],
    [{ keySecret: 'hunter2', port: 1 }, '{"keySecret":"***","port":1}'],
    [[{ redis: { password: 'hunter2' } }], '[{"redis":{"password":"***"}}]'],
    ['https://a.com/items', '"https://a.com/items"'],
  ])('leaves secrets out: %j', (value, shown) => {
    expect(quote(value)).toBe(shown);
  });

  it('does not take long for a hostile text', () => {
    expect(quote('://'.repeat(1_000_000))).toHaveLength(120);
    expect(quote(`redis://:${'p'.repeat(3_000)}@redis`)).toBe('"redis://***@redis"');
  });
});
