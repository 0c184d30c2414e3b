import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseOutboundFile } from '../../lib/outbound/outbound-file.js';

/** As much of the schema as is read here. */
interface Schema {
  readonly properties: Readonly<Record<string, Field>>;
  readonly $defs: { readonly rule: { readonly properties: Readonly<Record<string, Field>> } };
}

interface Field {
  readonly description?: string;
  readonly examples?: readonly unknown[];
}

const schema = JSON.parse(readFileSync('lib/outbound/outbound-file.schema.json', 'utf8')) as Schema;
const ajv = new Ajv2020({ strict: true });
const validate = ajv.compile(schema);

function parses(text: string): boolean {
  try {
    parseOutboundFile(text, 'rates.json');
    return true;
  } catch {
    return false;
  }
}

const rule = (fields: object = {}) => ({ requests_per_second: 1, burst_capacity: 1, ...fields });
const withDefault = (fields: unknown) => ({ version: '1.0', default_config: fields });
const withDomain = (key: string, fields: unknown = rule()) => ({
  version: '1.0',
  domains: { [key]: fields },
});

const GOOD: readonly unknown[] = [
  {
    version: '1.0',
    default_config: { requests_per_second: 1.0, burst_capacity: 1 },
    domains: {
      'javdb.com': { requests_per_second: 1.0, burst_capacity: 1 },
      'av-wiki.net': { requests_per_second: 2.0, burst_capacity: 2 },
    },
  },
  { version: '1.0' },
  { version: '1.99', domains: {} },
  { version: '1.0', $schema: './outbound-file.schema.json' },
  withDefault(rule({ max_concurrent: 1 })),
  withDefault(rule({ max_concurrent: 0 })),
  withDefault(rule({ max_concurrent: -1 })),
  withDefault(rule({ requests_per_second: 0.25 })),
  withDefault(rule({ requests_per_second: 1e6, burst_capacity: 1e12 })),
  withDefault(rule({ max_concurrent: 1e12 })),
  withDomain('*.example.com'),
  withDomain('API.example.com:8443'),
  withDomain('https://api.example.com/'),
  withDomain('bücher.example'),
  withDomain('192.0.2.1'),
  withDomain('[2001:db8::1]'),
  withDomain('localhost'),
];

const BAD: readonly unknown[] = [
  null,
  [],
  'a text',
  7,
  {},
  { version: 1 },
  { version: '2.0' },
  { version: '1' },
  { version: '1.0.0' },
  { version: '1.0', $schema: 7 },
  { version: '1.0', unknown: 1 },
  { version: '1.0', defaultConfig: rule() },
  { version: '1.0', domains: null },
  { version: '1.0', domains: [] },
  { version: '1.0', domains: 'javdb.com' },
  withDefault(null),
  withDefault([]),
  withDefault({}),
  withDefault({ requests_per_second: 1 }),
  withDefault({ burst_capacity: 1 }),
  withDefault(rule({ requests_per_second: 0 })),
  withDefault(rule({ requests_per_second: -1 })),
  withDefault(rule({ requests_per_second: 1_000_001 })),
  withDefault(rule({ requests_per_second: '1' })),
  withDefault(rule({ requests_per_second: null })),
  withDefault(rule({ burst_capacity: 0 })),
  withDefault(rule({ burst_capacity: 1.5 })),
  withDefault(rule({ burst_capacity: 1e12 + 1 })),
  withDefault(rule({ burst_capacity: true })),
  withDefault(rule({ max_concurrent: -2 })),
  withDefault(rule({ max_concurrent: 1e12 + 1 })),
  withDefault(rule({ max_concurrent: 2.5 })),
  withDefault(rule({ max_concurrent: null })),
  withDefault(rule({ burst: 1 })),
  withDefault(rule({ burstCapacity: 1 })),
  withDomain('javdb.com', null),
  withDomain('javdb.com', rule({ burst_capacity: -1 })),
  withDomain(''),
  withDomain('  '),
  withDomain('a b'),
  withDomain('*'),
  withDomain('*.'),
  withDomain('*.*.com'),
  withDomain('a.*.com'),
  withDomain('user@example.com'),
  withDomain('default'),
];

describe('the schema of the file of rules', () => {
  it('is one itself', () => {
    expect(ajv.validateSchema(schema)).toBe(true);
  });

  it.each(GOOD.map((file) => [JSON.stringify(file)]))('takes %s, as the parser does', (text) => {
    expect([validate(JSON.parse(text)), parses(text)]).toEqual([true, true]);
  });

  it.each(BAD.map((file) => [JSON.stringify(file)]))('refuses %s, as the parser does', (text) => {
    expect([validate(JSON.parse(text)), parses(text)]).toEqual([false, false]);
  });

  it('describes every field', () => {
    const objects = [schema.properties, schema.$defs.rule.properties];
    const described = objects.flatMap((object) => Object.entries(object));
    expect(described.map(([name]) => name)).toEqual([
      '$schema',
      'version',
      'default_config',
      'domains',
      'requests_per_second',
      'burst_capacity',
      'max_concurrent',
    ]);
    for (const [, { description }] of described) {
      expect(description).toMatch(/^[A-Z].+\.$/);
    }
  });

  it('shows examples that are right', () => {
    const [domains] = schema.properties['domains']!.examples!;
    const file = { version: '1.0', domains };
    expect([validate(file), parses(JSON.stringify(file))]).toEqual([true, true]);
  });
});
