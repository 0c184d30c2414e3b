import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  InvalidOutboundFileError,
  parseOutboundFile,
  readOutboundFile,
} from '../../lib/outbound/outbound-file.js';
import { OutboundRules } from '../../lib/outbound/outbound-rules.js';

const EXAMPLE = `{
  "version": "1.0",
  "default_config": {
    "requests_per_second": 1.0,
    "burst_capacity": 1
  },
  "domains": {
    "javdb.com": {
      "requests_per_second": 1.0,
      "burst_capacity": 1
    },
    "av-wiki.net": {
      "requests_per_second": 2.0,
      "burst_capacity": 2
    }
  }
}
`;

/** A file around one rule for javdb.com. */
const withRule = (fields: string) => `{"version":"1.0","domains":{"javdb.com":{${fields}}}}`;
const RULE = '"requests_per_second":1,"burst_capacity":1';

function errorOf(text: string): Error {
  try {
    parseOutboundFile(text, 'rates.json');
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidOutboundFileError);
    expect(error).toMatchObject({ code: 'INVALID_OPTION', name: 'InvalidOutboundFileError' });
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

const messageOf = (text: string) => errorOf(text).message;
const withoutPlace = (message: string) => message.replace(/, line \d+, column \d+: /, ': ');

describe('a file of rules', () => {
  it('becomes the options of the rules', () => {
    expect(parseOutboundFile(EXAMPLE, 'rates.json')).toEqual({
      default: { requestsPerSecond: 1, burstCapacity: 1 },
      domains: {
        'javdb.com': { requestsPerSecond: 1, burstCapacity: 1 },
        'av-wiki.net': { requestsPerSecond: 2, burstCapacity: 2 },
      },
    });
  });

  it.each([
    ['{"version":"1.0"}', {}],
    ['\uFEFF{"version":"1.0"}', {}],
    ['{"version":"1.17","domains":{}}', { domains: {} }],
    ['{"version":"1.0","$schema":"./outbound-file.schema.json"}', {}],
    [
      withRule(`${RULE},"max_concurrent":3`),
      { domains: { 'javdb.com': { requestsPerSecond: 1, burstCapacity: 1, maxConcurrent: 3 } } },
    ],
    [
      `{"version":"1.0","domains":{"*.A.com":{${RULE}}}}`,
      { domains: { '*.A.com': { requestsPerSecond: 1, burstCapacity: 1 } } },
    ],
  ])('may be %s', (text, options) => {
    expect(parseOutboundFile(text, 'rates.json')).toEqual(options);
  });

  const RATE = 'a number above 0, up to 1000000';
  const WHOLE = 'a whole number from 1 to 1000000000000';
  it.each([
    [
      withRule('"requests_per_second":1,"burst_capacity":0'),
      `domains["javdb.com"].burst_capacity must be ${WHOLE}, got 0.`,
    ],
    [
      withRule('"requests_per_second":1,"burst_capacity":"2"'),
      `domains["javdb.com"].burst_capacity must be ${WHOLE}, got "2".`,
    ],
    [
      withRule('"requests_per_second":1'),
      `domains["javdb.com"].burst_capacity must be ${WHOLE}, got undefined.`,
    ],
    [
      withRule('"requests_per_second":1e400,"burst_capacity":1'),
      `domains["javdb.com"].requests_per_second must be ${RATE}, got Infinity.`,
    ],
    [
      withRule(`${RULE},"max_concurrent":null`),
      `domains["javdb.com"].max_concurrent must be ${WHOLE.replace('from 1', 'from -1')}, or left out, got null.`,
    ],
    [
      withRule('"requests_per_second":1e-10,"burst_capacity":1'),
      'domains["javdb.com"]: at a requests_per_second of 1e-10 it takes more than ten years until ' +
        '1 may go at once. Raise it or lower burst_capacity.',
    ],
    [
      withRule(`${RULE},"maxConcurrent":1`),
      'domains["javdb.com"]: unknown field "maxConcurrent". Did you mean "max_concurrent"? ' +
        'Known fields: "requests_per_second", "burst_capacity", "max_concurrent".',
    ],
    [
      withRule(`${RULE},"__proto__":{}`),
      'domains["javdb.com"]: unknown field "__proto__". Known fields: "requests_per_second", ' +
        '"burst_capacity", "max_concurrent".',
    ],
    [
      '{"version":"1.0","default_config":{"requests_per_second":-1,"burst_capacity":1}}',
      `default_config.requests_per_second must be ${RATE}, got -1.`,
    ],
    [
      '{"version":"1.0","default_config":{"requests_per_second":1,"burst_capacity":0}}',
      `default_config.burst_capacity must be ${WHOLE}, got 0.`,
    ],
    [
      '{"version":"1.0","default_config":{"requests_per_second":1e-10,"burst_capacity":1}}',
      'default_config: at a requests_per_second of 1e-10 it takes more than ten years until ' +
        '1 may go at once. Raise it or lower burst_capacity.',
    ],
    [
      '{"version":"1.0","default_config":null}',
      'default_config must be an object with "requests_per_second", "burst_capacity", ' +
        '"max_concurrent", got null.',
    ],
    [
      '{"version":"1.0","domains":{"javdb.com":[1]}}',
      'domains["javdb.com"] must be an object with "requests_per_second", "burst_capacity", ' +
        '"max_concurrent", got [1].',
    ],
    ['{"version":"1.0","domains":[]}', 'domains must be an object of rules by domain, got [].'],
    ['{"version":"1.0","domains":null}', 'domains must be an object of rules by domain, got null.'],
    [
      `{"version":"1.0","domains":{"a.com":{${RULE}},"A.com":{${RULE}}}}`,
      'domains has two rules for "a.com". Keep one of them.',
    ],
    [
      `{"version":"1.0","domains":{"default":{${RULE}}}}`,
      'domains["default"] is no domain. Write the rule of all other domains as the default.',
    ],
    [
      `{"version":"1.0","domains":{"a b":{${RULE}}}}`,
      'Expected a domain that names a host, got "a b". Write the name alone, such as ' +
        '"api.example.com", or an address: at most 253 characters.',
    ],
    [
      '{"version":"1.0","domains":{"https://u:secret@a.com":{"requests_per_second":0}}}',
      `domains["a.com"].requests_per_second must be ${RATE}, got 0.`,
    ],
    ['{}', 'version must be "1.0", got undefined.'],
    ['{"version":1.0}', 'version must be "1.0", got 1.'],
    ['{"version":"2.0"}', 'version must be "1.0", got "2.0".'],
    ['{"version":"1."}', 'version must be "1.0", got "1.".'],
    ['{"version":"1.0","$schema":7}', '$schema must be the address of a schema, got 7.'],
    [
      '{"version":"1.0","defaultConfig":{}}',
      'the file: unknown field "defaultConfig". Did you mean "default_config"? ' +
        'Known fields: "version", "default_config", "domains", "$schema".',
    ],
    [
      '{"version":"1.0","__proto__":{}}',
      'the file: unknown field "__proto__". Known fields: "version", "default_config", "domains", ' +
        '"$schema".',
    ],
    [
      '[]',
      'the file must be an object with "version", "default_config", "domains", "$schema", got [].',
    ],
    [
      'null',
      'the file must be an object with "version", "default_config", "domains", "$schema", got null.',
    ],
  ])('%s is refused', (text, problem) => {
    expect(withoutPlace(messageOf(text))).toBe(`rates.json: ${problem}`);
  });

  it.each<[wrong: [string, string], line: number, column: number, path: (string | number)[]]>([
    [['"version": "1.0"', '"version": "2.0"'], 2, 14, ['version']],
    [
      ['"burst_capacity": 2', '"burst_capacity": 0'],
      14,
      25,
      ['domains', 'av-wiki.net', 'burst_capacity'],
    ],
    [['"burst_capacity": 2', '"burst": 2'], 14, 7, ['domains', 'av-wiki.net', 'burst']],
    [
      ['      "burst_capacity": 2', '      "max_concurrent": 2'],
      12,
      20,
      ['domains', 'av-wiki.net', 'burst_capacity'],
    ],
    [['"default_config": {', '"default_config": 7, "x": {'], 3, 24, ['x']],
    [
      ['"javdb.com": {', '"https://u:secret@JavDB.com/": 5, "b.com": {'],
      8,
      36,
      ['domains', 'javdb.com'],
    ],
  ])('names the place: %j', ([right, wrong], line, column, path) => {
    expect(EXAMPLE).toContain(right);
    const text = EXAMPLE.replace(right, wrong);
    expect(messageOf(text)).toMatch(new RegExp(`^rates\\.json, line ${line}, column ${column}: `));
    expect(errorOf(text)).toMatchObject({ path });
    expect(messageOf(text)).not.toContain('secret');
  });

  it.each([
    ['', 'line 1, column 1, where it ends'],
    ['{"version": "1.0"', 'line 1, column 18, where it ends'],
    ['{"version": "1.0",}', 'line 1, column 19, at "}"'],
    ['{\n  "version": x\n}', 'line 2, column 14, at "x\\n}"'],
    ['{\n  "version": "1.0"\n  "domains": {}\n}', 'line 3, column 3, at "\\"domains\\": {}\\n}"'],
    ['{"version": "1.0"} // rates', 'line 1, column 20, at "// rates"'],
    ['{// rates\n"version": "1.0"}', 'line 1, column 2, at "// rates\\n\\"version\\": "'],
    ['{"version": \'1.0\'}', 'line 1, column 13, at "\'1.0\'}"'],
    ['{"version": "1.0", "domains": undefined}', 'line 1, column 31, at "undefined}"'],
    ['{"a": [1, 2, 3, 4, x, 5, x]}', 'line 1, column 20, at "x, 5, x]}"'],
    ['version: 1.0', 'line 1, column 1, at "version: 1.0"'],
  ])('%j is not JSON', (text, place) => {
    expect(messageOf(text)).toBe(`rates.json: is not JSON at ${place}.`);
  });

  it('is never longer than a megabyte', () => {
    const most = 1_048_576;
    const text = `{"version":"1.0"}`;
    expect(parseOutboundFile(text.padEnd(most), 'rates.json')).toEqual({});
    expect(messageOf(text.padEnd(most + 1))).toBe(
      'rates.json: has 1048577 bytes, which is more than 1048576. ' +
        'Wildcards such as "*.example.com" stand for many domains.',
    );
    expect(messageOf('ü'.repeat(most / 2 + 1))).toContain('has 1048578 bytes');
  });

  it('may name a host __proto__, which changes nothing else', () => {
    const options = parseOutboundFile(
      `{"version":"1.0","domains":{"__proto__":{${RULE}},"constructor":{${RULE}}}}`,
      'rates.json',
    );
    expect(Object.keys(options.domains!)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(options.domains)).toBe(Object.prototype);
    expect(new OutboundRules(options).ruleFor('__proto__').source).toBe('__proto__');
    expect('requestsPerSecond' in {}).toBe(false);
  });

  it('is read or refused by name, whatever it says', () => {
    const anything = fc.oneof(
      fc.json(),
      fc.string(),
      fc
        .tuple(fc.nat(EXAMPLE.length), fc.nat(9), fc.string({ maxLength: 4 }))
        .map(([at, cut, put]) => EXAMPLE.slice(0, at) + put + EXAMPLE.slice(at + cut)),
    );
    fc.assert(
      fc.property(anything, (text) => {
        let options;
        try {
          options = parseOutboundFile(text, 'rates.json');
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidOutboundFileError);
          expect((error as Error).message).toMatch(/^rates\.json(, line \d+, column \d+)?: .+\.$/);
          return;
        }
        expect(() => new OutboundRules(options)).not.toThrow();
      }),
      { numRuns: 1000 },
    );
  });
});

describe('reading a file of rules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'outbound-file-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('gives its options', async () => {
    const path = join(folder, 'rates.json');
    writeFileSync(path, EXAMPLE);
    await expect(readOutboundFile(path)).resolves.toEqual(parseOutboundFile(EXAMPLE, path));
  });

  it('tells the path of a file that is wrong', async () => {
    const path = join(folder, 'wrong.json');
    writeFileSync(path, '{}');
    await expect(readOutboundFile(path)).rejects.toThrow(
      new InvalidOutboundFileError(
        path,
        'version must be "1.0", got undefined.',
        'line 1, column 1',
      ),
    );
  });

  it('tells why it cannot', async () => {
    const missing = join(folder, 'missing.json');
    const directory = join(folder, 'directory.json');
    mkdirSync(directory);
    await expect(readOutboundFile(missing)).rejects.toThrow(
      new InvalidOutboundFileError(missing, 'cannot be read (ENOENT).'),
    );
    await expect(readOutboundFile(directory)).rejects.toThrow(
      new InvalidOutboundFileError(directory, 'is not a file.'),
    );
    await expect(readOutboundFile('/dev/zero')).rejects.toThrow('/dev/zero: is not a file.');
    await expect(readOutboundFile('a\0b')).rejects.toBeInstanceOf(InvalidOutboundFileError);
  });

  it('does not even open what is too long', async () => {
    const path = join(folder, 'long.json');
    writeFileSync(path, '');
    truncateSync(path, 8e9);
    await expect(readOutboundFile(path)).rejects.toThrow('has 8000000000 bytes');
  });
});
