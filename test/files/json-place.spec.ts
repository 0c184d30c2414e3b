import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { placeInJson } from '../../lib/files/json-place.js';

const TEXT = `{
  "version": "1.0",
  "routes": [
    { "host": "a\\"},b", "limits": [1, [2, {}], -3e5] },
    { "host" : null , "host":true}
  ],
  "\\u0061b": { "c": [] }
}
`;

describe('a place in JSON', () => {
  it.each<[path: (string | number)[], line: number, column: number]>([
    [[], 1, 1],
    [['version'], 2, 14],
    [['routes'], 3, 13],
    [['routes', 0], 4, 5],
    [['routes', 0, 'host'], 4, 15],
    [['routes', 0, 'limits', 1, 1], 4, 43],
    [['routes', 0, 'limits', 2], 4, 48],
    [['routes', 1, 'host'], 5, 30],
    [['ab', 'c'], 7, 21],
  ])('%j is at %d:%d', (path, line, column) => {
    expect(placeInJson(TEXT, path)).toEqual({ line, column });
  });

  it.each<[path: (string | number)[], line: number, column: number]>([
    [['routes', 7], 3, 13],
    [['routes', 'host'], 3, 13],
    [['routes', 1, 'port'], 5, 5],
    [['version', 'x'], 2, 14],
    [['ab', 'c', 0], 7, 21],
    [['ab', 0], 7, 14],
  ])('that is not there is that of the closest above: %j', (path, line, column) => {
    expect(placeInJson(TEXT, path)).toEqual({ line, column });
  });

  it('may be that of a key', () => {
    expect(placeInJson(TEXT, ['routes', 1, 'host'], true)).toEqual({ line: 5, column: 23 });
    expect(placeInJson(TEXT, ['ab'], true)).toEqual({ line: 7, column: 3 });
    expect(placeInJson(TEXT, ['ab', 'd'], true)).toEqual({ line: 7, column: 14 });
  });

  it('is found behind a byte order mark, and without any space', () => {
    expect(placeInJson('\uFEFF{"a":1}', [])).toEqual({ line: 1, column: 2 });
    expect(placeInJson('{"a":[1,"x",{"b":2}]}', ['a', 2, 'b'])).toEqual({ line: 1, column: 18 });
  });

  it('is where the value starts, whatever the text', () => {
    const text = fc.tuple(fc.jsonValue(), fc.nat(3)).map(([value, indent]) => ({
      value: [value, { last: value }],
      json: JSON.stringify([value, { last: value }], undefined, indent),
    }));
    fc.assert(
      fc.property(text, ({ value, json }) => {
        const { line, column } = placeInJson(json, [1, 'last']);
        const before = json.split('\n').slice(0, line - 1);
        const offset = before.join('\n').length + (line > 1 ? 1 : 0) + column - 1;
        const rest = json.slice(offset).replace(/\s*\}\s*\]$/, '');
        expect(rest).not.toBe('');
        expect(JSON.parse(rest)).toEqual(JSON.parse(JSON.stringify(value[0])));
      }),
    );
  });

  it('is found in deep lists', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    expect(placeInJson(`{"a":${deep},"b":1}`, ['b'])).toEqual({ line: 1, column: 400_011 });
  });
});
