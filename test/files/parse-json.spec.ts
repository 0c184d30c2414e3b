import { describe, expect, it } from '@jest/globals';
import { RateLimitError } from '../../lib/core/errors.js';
import { parseJson } from '../../lib/files/parse-json.js';

describe('a JSON text', () => {
  it.each([
    ['{"a":[1,null]}', { a: [1, null] }],
    ['\uFEFF7', 7],
    [' "x"\n', 'x'],
  ])('%j is read', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it.each([
    ['', 'is not JSON at line 1, column 1, where it ends.'],
    ['{\n  "a": 1,\n}', 'is not JSON at line 3, column 1, at "}".'],
    ['{\n  "a": x\n}', 'is not JSON at line 2, column 8, at "x\\n}".'],
    ['[1', 'is not JSON at line 1, column 3, where it ends.'],
  ])('%j is none, and where', (text, problem) => {
    expect(() => parseJson(text)).toThrow(new RateLimitError('INVALID_OPTION', problem));
  });
});
