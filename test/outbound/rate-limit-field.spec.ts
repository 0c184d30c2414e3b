import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { BareItem, Item } from 'structured-headers';
import { parseList, serializeList, Token } from 'structured-headers';
import type { RateLimitItem } from '../../lib/outbound/rate-limit-field.js';
import { parseRateLimitField } from '../../lib/outbound/rate-limit-field.js';
import { workMs } from '../support/work-ms.js';

/** What a complete parser of structured fields makes of it. */
function reference(field: string): readonly RateLimitItem[] {
  try {
    const items = parseList(field);
    if (items.some(([value]) => Array.isArray(value))) return [];
    // Numbers lose their point on the way: 1.0 would look like an integer.
    return items.flatMap(([, parameters]) => {
      const remaining = parameters.get('r') as unknown;
      const windowSeconds = parameters.get('t') as unknown;
      return isCount(remaining) && isCount(windowSeconds) ? [{ remaining, windowSeconds }] : [];
    });
  } catch {
    return [];
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

describe('the RateLimit header', () => {
  it.each<[string, RateLimitItem[]]>([
    ['"default";r=50;t=30', [{ remaining: 50, windowSeconds: 30 }]],
    [
      '"user-sec";r=0;t=1,"user-day";r=812;t=36000 , "org";r=3',
      [
        { remaining: 0, windowSeconds: 1 },
        { remaining: 812, windowSeconds: 36_000 },
      ],
    ],
    ['"a"; t=2;  r=1;pk=:cHNzdA==:', [{ remaining: 1, windowSeconds: 2 }]],
    ['default;r=1;t=2', [{ remaining: 1, windowSeconds: 2 }]],
    ['"a, b;r=9;t=9 \\" \\\\";r=1;t=2', [{ remaining: 1, windowSeconds: 2 }]],
    ['"a";r=9;r=1;t=2', [{ remaining: 1, windowSeconds: 2 }]],
    ['"a";x;y=?0;z=-1.5;u="s";w=%"%c3%bc";r=1;t=2', [{ remaining: 1, windowSeconds: 2 }]],
    ['"a";r=999999999999999;t=0', [{ remaining: 999_999_999_999_999, windowSeconds: 0 }]],
  ])('%s', (field, items) => {
    expect(parseRateLimitField(field)).toEqual(items);
    expect(reference(field)).toEqual(items);
  });

  it.each([
    '',
    '"a"',
    '"a";r=1',
    '"a";t=1',
    '"a";r;t=1',
    '"a";r="1";t=1',
    '"a";r=-1;t=1',
    '"a";r=1;t=-1',
    '"a";r=1.5;t=1',
    '"a";R=1;T=1',
    '"a" ;r=1;t=1',
    '"a";r =1;t=1',
    '"a";r= 1;t=1',
    '"a";r=1;t=1;',
    '"a";r=1;t=1,',
    ',"a";r=1;t=1',
    '"a";r=1;t=1 "b"',
    '"a";r=1;t=1, "b',
    '"a";r=1;t=1, "b";r=',
    '"a\\n";r=1;t=1',
    '"ü";r=1;t=1',
    '"a";r=1000000000000000;t=1',
    '("a");r=1;t=1',
    ';r=1;t=1',
    'limit=100, remaining=50, reset=5',
    '100;w=60',
  ])('%j tells nothing', (field) => {
    expect(parseRateLimitField(field)).toEqual([]);
    expect(reference(field)).toEqual([]);
  });

  it('may hold dates, which the other parser cannot read before another parameter', () => {
    const field = '"a";x=@17;y=@-17;r=1;t=2, @1659578233;r=3;t=4';
    expect(parseRateLimitField(field)).toEqual([
      { remaining: 1, windowSeconds: 2 },
      { remaining: 3, windowSeconds: 4 },
    ]);
  });

  it('is not read when it is longer than 8192 characters', () => {
    const item = '"a";r=1;t=2';
    expect(parseRateLimitField(item.padEnd(8_192))).toHaveLength(1);
    expect(parseRateLimitField(item.padEnd(8_193))).toEqual([]);
  });

  it('takes no decimal for a whole number', () => {
    expect(parseRateLimitField('"a";r=1.0;t=1')).toEqual([]);
  });

  it('is read as a complete serialiser writes it', () => {
    const bare = fc.oneof<fc.Arbitrary<BareItem>[]>(
      fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 }),
      fc.integer({ min: 0, max: 99 }),
      fc.integer({ min: -999, max: 999 }).map((n) => n + 0.125),
      fc.string({ unit: fc.constantFrom(...' !#"\\[]~aZ0;,=') }),
      fc.constantFrom(new Token('token'), new Token('*a/b:c')),
      fc.uint8Array().map((bytes) => new Uint8Array(bytes).buffer),
      fc.boolean(),
    );
    const key = fc.constantFrom('r', 't', 'pk', 'acme-burst', '*x', 'r2');
    const item = fc.tuple(
      bare,
      fc.array(fc.tuple(key, bare)).map((pairs) => new Map(pairs)),
    );
    fc.assert(
      fc.property(fc.array(item, { minLength: 1 }), (items: Item[]) => {
        const field = serializeList(items);
        expect(parseRateLimitField(field)).toEqual(reference(field));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is refused where a complete parser refuses it', () => {
    const piece = fc.constantFrom(
      ...[
        '"a"',
        ';r=1',
        ';t=2',
        ';',
        ',',
        ' ',
        ', ',
        '=',
        '"',
        '\\',
        'a',
        ':',
        '?1',
        '?',
        '-',
        '7',
        '*',
        ';x',
        '%"',
        '(',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const field = pieces.join('').trim();
        expect({ field, items: parseRateLimitField(field) }).toEqual({
          field,
          items: reference(field),
        });
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    '"',
    '"a',
    '"a",',
    ':',
    ':aaaa',
    'a;',
    'a;a',
    '\\"',
    '%"',
    '1',
    ' ',
    ';',
    '"a";r=1;t=1,',
  ])('made of %j without end is refused at once', (text) => {
    const field = text.repeat(65_536 / text.length);
    const costMs = workMs(() => {
      expect(parseRateLimitField(field)).toEqual([]);
      parseRateLimitField(field.slice(0, 8_192));
    });
    // Other threads of this process work as well; trying all ways through would take minutes.
    expect(costMs).toBeLessThan(500);
  });
});
