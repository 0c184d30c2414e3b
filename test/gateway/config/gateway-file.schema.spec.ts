import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as yaml from 'yaml';
import { parseGatewayFile } from '../../../lib/gateway/config/gateway-file.js';
import { LIMIT_FIELDS } from '../../../lib/gateway/config/gateway-config.js';
import { EXAMPLE_YAML } from '../example.js';

/** As much of the schema as is read here. */
interface Schema {
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

const schema = JSON.parse(readFileSync('lib/gateway/gateway-file.schema.json', 'utf8')) as Schema;
const ajv = new Ajv2020({ strict: true });
const validate = ajv.compile(schema);

function parses(text: string): boolean {
  try {
    parseGatewayFile(text, 'gateway.json');
    return true;
  } catch {
    return false;
  }
}

const withLimits = (rateLimit: unknown) => ({ server: { rateLimit } });
const withBackend = (fields: unknown) => ({ backends: [fields] });
const withRoute = (fields: object) => ({
  backends: [{ name: 'api' }],
  routes: [{ host: 'a.com', backend: 'api', ...fields }],
});

const GOOD: readonly unknown[] = [
  {},
  { $schema: './gateway-file.schema.json' },
  { server: {} },
  { backends: [], routes: [] },
  { connectionLeaseMs: 100 },
  { connectionLeaseMs: 86_400_000 },
  ...LIMIT_FIELDS.flatMap((field) =>
    [-1, 0, 1, 1e12].map((value) => withLimits({ [field]: value })),
  ),
  withLimits({}),
  withLimits({ maxQps: 5.0 }),
  withBackend({ name: 'api' }),
  withBackend({ name: 'Ein Dienst (für alle) 🚀' }),
  withBackend({ name: 'x'.repeat(200) }),
  withBackend({ name: 'api', rateLimit: {} }),
  withRoute({}),
  withRoute({ id: 'the first' }),
  withRoute({ rateLimit: { maxQps: 1 } }),
  ...[
    'A.Example.com',
    'a.com.',
    'a.com:80',
    '*',
    '*.a.com',
    'localhost',
    'my_service',
    '127.0.0.1',
  ],
  ...['[::1]', '[2001:db8::1]:443', 'bücher.example', 'xn--bcher-kva.example', '*.eu.a.com'],
].map((one) => (typeof one === 'string' ? withRoute({ host: one }) : one));

const GOOD_PATHS = [
  '/',
  '/api',
  'api',
  '/api/v1/',
  '//api',
  '/.well-known',
  '/a.b/c..d',
  '/bücher',
];

const BAD: readonly unknown[] = [
  null,
  [],
  'a text',
  7,
  { $schema: 7 },
  { route: [] },
  { server: null },
  { server: [] },
  { server: { maxQps: 1 } },
  ...[99, 86_400_001, 1000.5, '1000', null].map((connectionLeaseMs) => ({ connectionLeaseMs })),
  ...LIMIT_FIELDS.flatMap((field) =>
    [-2, -1.5, 0.5, 1e12 + 1, '1', null, true, [], {}].map((value) =>
      withLimits({ [field]: value }),
    ),
  ),
  withLimits(null),
  withLimits([]),
  withLimits({ maxQPS: 1 }),
  withLimits({ maxQps: 1, burst: 1 }),
  { backends: null },
  { backends: {} },
  withBackend(null),
  withBackend('api'),
  withBackend({}),
  withBackend({ name: '' }),
  withBackend({ name: '  ' }),
  withBackend({ name: 7 }),
  withBackend({ name: 'a\u0000b' }),
  withBackend({ name: 'a\nb' }),
  withBackend({ name: 'a\u2028b' }),
  withBackend({ name: 'x'.repeat(201) }),
  withBackend({ name: 'api', url: 'http://localhost' }),
  withBackend({ name: 'api', rateLimit: null }),
  { routes: null },
  { routes: {} },
  { routes: [null] },
  { backends: [{ name: 'api' }], routes: [{ host: 'a.com' }] },
  { backends: [{ name: 'api' }], routes: [{ backend: 'api' }] },
  withRoute({ backend: '' }),
  withRoute({ backend: 7 }),
  withRoute({ id: '' }),
  withRoute({ id: null }),
  withRoute({ port: 80 }),
  withRoute({ rateLimit: { maxQps: -2 } }),
  ...[
    7,
    null,
    '',
    ' ',
    '.',
    'a b',
    'http://a.com',
    'a.com/api',
    'user@a.com',
    '*.',
    '*.*.com',
    'a.*',
  ].map((host) => withRoute({ host })),
  ...['a..com', '.a.com', 'a.com:port', '**', '::1', '*a.com'].map((host) => withRoute({ host })),
  ...[7, null, '', '/a b', '/api/*', '/users/:id', '/users/{id}', '/a?b', '/a#b', '/a/../b'].map(
    (path) => withRoute({ path }),
  ),
  ...['/..', '.', '/a/./b', '/a%2Fb', '/a%5cb', '/%2e%2E/b', '/a\\b', '/a;b', 'http://a.com/b'].map(
    (path) => withRoute({ path }),
  ),
  withRoute({ path: '/x'.repeat(501) }),
];

describe('the schema of the configuration file', () => {
  it('is one itself', () => {
    expect(ajv.validateSchema(schema)).toBe(true);
  });

  it('takes the example in YAML, as the parser does', () => {
    expect(validate(yaml.parse(EXAMPLE_YAML))).toBe(true);
    expect(parseGatewayFile(EXAMPLE_YAML, 'gateway.yml', yaml)).toEqual(yaml.parse(EXAMPLE_YAML));
  });

  const good = [...GOOD, ...GOOD_PATHS.map((path) => withRoute({ path }))];
  it.each(good.map((file) => [JSON.stringify(file)]))('takes %s, as the parser does', (text) => {
    expect([validate(JSON.parse(text)), parses(text)]).toEqual([true, true]);
  });

  it.each(BAD.map((file) => [JSON.stringify(file)]))('refuses %s, as the parser does', (text) => {
    expect([validate(JSON.parse(text)), parses(text)]).toEqual([false, false]);
  });

  it.each(['backends', 'routes'])('takes 10 000 %s at most, as the parser does', (field) => {
    const entries = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        field === 'backends' ? { name: `b${index}` } : { host: `h${index}.com`, backend: 'api' },
      );
    const file = (count: number) => ({ backends: [{ name: 'api' }], [field]: entries(count) });
    for (const [count, fine] of [
      [10_000, true],
      [10_001, false],
    ] as const) {
      expect([validate(file(count)), parses(JSON.stringify(file(count)))]).toEqual([fine, fine]);
    }
  });

  it('describes every field', () => {
    const { backend, route, limits } = schema.$defs!;
    const objects = [schema, schema.properties!['server']!, backend!, route!, limits!];
    const described = objects.flatMap(({ properties }) => Object.entries(properties!));
    expect(described.map(([name]) => name)).toEqual([
      ...['$schema', 'server', 'backends', 'routes', 'connectionLeaseMs'],
      ...['rateLimit', 'name', 'rateLimit'],
      ...['id', 'host', 'path', 'backend', 'rateLimit', ...LIMIT_FIELDS],
    ]);
    for (const { description } of [...objects, ...described.map(([, field]) => field)]) {
      expect(description).toMatch(/^[A-Z].+\.$/);
    }
  });

  it('shows an example that is right', () => {
    const [example] = schema.examples!;
    expect([validate(example), parses(JSON.stringify(example))]).toEqual([true, true]);
  });
});
