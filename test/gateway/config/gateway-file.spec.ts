import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import * as yaml from 'yaml';
import { WatchedFile } from '../../../lib/files/watched-file.js';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import type { GatewayConfig } from '../../../lib/gateway/config/gateway-config.js';
import {
  gatewayFileFormat,
  InvalidGatewayFileError,
  parseGatewayFile,
} from '../../../lib/gateway/config/gateway-file.js';
import { until } from '../../redis/until.mjs';
import { EXAMPLE, EXAMPLE_YAML } from '../example.js';
import { workMs } from '../../support/work-ms.js';

const EXAMPLE_JSON = JSON.stringify(EXAMPLE, undefined, 2);
const LIMIT = 'must be a whole number from -1 (no limit) to 1000000000000';

function messageOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidGatewayFileError);
    expect(error).toMatchObject({ code: 'INVALID_OPTION', name: 'InvalidGatewayFileError' });
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

const inYaml = (text: string) => messageOf(() => parseGatewayFile(text, 'gateway.yml', yaml));
const inJson = (text: string) => messageOf(() => parseGatewayFile(text, 'gateway.json', yaml));

describe('a configuration file', () => {
  it.each([
    ['gateway.yml', EXAMPLE_YAML, yaml],
    ['gateway.YAML', EXAMPLE_YAML, yaml],
    ['gateway.conf', EXAMPLE_YAML, yaml],
    ['gateway.yml', EXAMPLE_JSON, yaml],
    ['gateway.json', EXAMPLE_JSON, yaml],
    ['gateway.json', EXAMPLE_JSON, undefined],
    ['gateway.JSON', `\uFEFF${EXAMPLE_JSON}`, undefined],
    ['gateway.yml', `\uFEFF${EXAMPLE_YAML}`, yaml],
    ['gateway.conf', ` \n${EXAMPLE_JSON}`, undefined],
    ['gateway.json', EXAMPLE_JSON.replaceAll('  ', '\t').replaceAll('\n', '\r\n'), yaml],
    ['gateway.yml', EXAMPLE_YAML.replaceAll('\n', '\r\n'), yaml],
  ])('may be called %s', (name, text, parser) => {
    expect(parseGatewayFile(text, name, parser)).toEqual(EXAMPLE);
  });

  it('may name its schema', () => {
    const schema = '{"$schema":"./gateway-file.schema.json"}';
    expect(parseGatewayFile(schema, 'gateway.json')).toEqual({});
    expect(parseGatewayFile(schema, 'gateway.yml', yaml)).toEqual({});
    expect(inJson('{"$schema": 7}')).toBe(
      'gateway.json, line 1, column 13: $schema must be the address of a schema, got 7.',
    );
  });

  it('shares limits by anchors', () => {
    const text = [
      ...['server: { rateLimit: &limits { maxQps: 7 } }', 'backends: [{ name: api }]', 'routes:'],
      ...Array.from({ length: 1_000 }, (_, index) => [
        `  - { host: h${index}.com, backend: api, rateLimit: *limits }`,
      ]),
    ].join('\n');
    const { routes } = checkGatewayConfig(parseGatewayFile(text, 'gateway.yml', yaml));
    expect(routes).toHaveLength(1_000);
    expect(routes.at(-1)).toMatchObject({ host: 'h999.com', limits: { maxQps: 7 } });
  });

  it.each(['gateway.yml', 'gateway.yaml', 'gateway.YML', 'gateway'])(
    'asks for the package that reads %s',
    (name) => {
      expect(messageOf(() => parseGatewayFile(EXAMPLE_YAML, name))).toBe(
        `${name}: is written in YAML, which takes the package "yaml". ` +
          'Install it (npm install yaml), or write the file in JSON.',
      );
    },
  );

  it.each([
    ['maxQps: 500 ', 'maxQps: -2 ', 20, 15, `routes[0].rateLimit.maxQps ${LIMIT}, got -2.`],
    ['maxQps: 500 ', 'maxQps: 1.5 ', 20, 15, `routes[0].rateLimit.maxQps ${LIMIT}, got 1.5.`],
    ['maxQps: 500 ', 'maxQps: .nan ', 20, 15, `routes[0].rateLimit.maxQps ${LIMIT}, got NaN.`],
    ['maxQps: 500 ', 'maxQps: 1_000 ', 20, 15, `routes[0].rateLimit.maxQps ${LIMIT}, got "1_000".`],
    ['maxQps: 500 ', 'maxQps: ', 20, 30, `routes[0].rateLimit.maxQps ${LIMIT}, got null.`],
    [
      ...['maxConnections: 5000 ', 'maxConnections: "5000" ', 12, 23],
      `backends[0].rateLimit.maxConnections ${LIMIT}, got "5000".`,
    ],
    [
      ...['maxQpsPerClient: 10 ', 'maxQPSPerClient: 10 ', 5, 5],
      'server.rateLimit: unknown field "maxQPSPerClient". Did you mean "maxQpsPerClient"? Known fields: "maxQps", ' +
        '"maxConnections", "maxQpsPerClient", "maxConnectionsPerClient".',
    ],
    [
      ...['backend: api-service', 'backend: api', 18, 14],
      'routes[0].backend: unknown backend "api". Known backends: "api-service".',
    ],
    [
      ...['    backend: api-service\n', '', 17, 5],
      'routes[0].backend: unknown backend undefined. Known backends: "api-service".',
    ],
    [
      ...['- name: api-service', '- {}\n  - name: api-service', 9, 5],
      'backends[0].name must be a name of 1 to 200 printable characters, got undefined.',
    ],
    [
      ...['routes:', 'route:', 16, 1],
      'The file: unknown field "route". Did you mean "routes"? Known fields: "server", "backends", "routes", "connectionLeaseMs", "$schema".',
    ],
    [
      ...['server:', '__proto__:', 1, 1],
      'The file: unknown field "__proto__". Known fields: "server", "backends", "routes", "connectionLeaseMs", "$schema".',
    ],
    [
      ...[
        '  - host: "api.example.com"',
        '  - host: a.com\n    backend: api-service\n  - host: A.com',
        19,
        5,
      ],
      'routes[1]: "a.com" and "/" are host and path of routes[0] as well. Keep one of them.',
    ],
  ] as const)('names the place: %j as %j', (right, wrong, line, column, problem) => {
    expect(EXAMPLE_YAML).toContain(right);
    expect(inYaml(EXAMPLE_YAML.replace(right, wrong))).toBe(
      `gateway.yml, line ${line}, column ${column}: ${problem}`,
    );
  });

  it('names the place where an alias leads', () => {
    const text =
      'server:\n  rateLimit: &one\n    maxQps: 1\nbackends:\n  - { name: a, rateLimit: &two { maxQps: -7 } }\n  - { name: b, rateLimit: *two }\n';
    expect(inYaml(text)).toBe(
      `gateway.yml, line 5, column 42: backends[0].rateLimit.maxQps ${LIMIT}, got -7.`,
    );
    const shared = 'backends:\n  - name: a\n    rateLimit: *x\nserver: &x {}';
    expect(inYaml(shared)).toContain('Unresolved alias');
    const name = 'server: { rateLimit: &x { maxQps: 1 } }\nbackends:\n  - name: *x';
    expect(inYaml(name)).toBe(
      'gateway.yml, line 1, column 25: backends[0].name must be a name of 1 to 200 printable ' +
        'characters, got {"maxQps":1}.',
    );
  });

  it('names the place in JSON, with the package or without', () => {
    const wrong = EXAMPLE_JSON.replace('"maxQps": 500', '"maxQps": -2');
    const problem = `routes[0].rateLimit.maxQps ${LIMIT}, got -2.`;
    expect(inJson(wrong)).toBe(`gateway.json, line 26, column 19: ${problem}`);
    expect(messageOf(() => parseGatewayFile(wrong, 'gateway.json'))).toBe(inJson(wrong));
    expect(inJson(JSON.stringify(JSON.parse(wrong)))).toMatch(
      /^gateway\.json, line 1, column \d+: routes\[0\]/,
    );
  });

  it.each([
    ['{"server":}', 'gateway.json: is not JSON at line 1, column 11, at "}".'],
    ['', 'gateway.json: is not JSON at line 1, column 1, where it ends.'],
    [
      '[]',
      'gateway.json, line 1, column 1: The file must be an object with "server", "backends", "routes", "connectionLeaseMs", "$schema", got [].',
    ],
    [
      'null',
      'gateway.json, line 1, column 1: The file must be an object with "server", "backends", "routes", "connectionLeaseMs", "$schema", got null.',
    ],
    [
      '{"__proto__":{"routes":[]}}',
      'gateway.json, line 1, column 2: The file: unknown field "__proto__". Known fields: "server", ' +
        '"backends", "routes", "connectionLeaseMs", "$schema".',
    ],
    [
      '{"server":{"rateLimit":{"maxQps":1e400}}}',
      `gateway.json, line 1, column 34: server.rateLimit.maxQps ${LIMIT}, got Infinity.`,
    ],
  ])('is refused as JSON: %j', (text, message) => {
    expect(inJson(text)).toBe(message);
  });

  const NOT_YAML = 'is not YAML that can be read';
  it.each([
    [
      '',
      'gateway.yml, line 1, column 1: The file must be an object with "server", "backends", "routes", "connectionLeaseMs", "$schema", got null.',
    ],
    [
      '# nothing',
      'gateway.yml, line 1, column 1: The file must be an object with "server", "backends", "routes", "connectionLeaseMs", "$schema", got null.',
    ],
    [
      '- a',
      'gateway.yml, line 1, column 1: The file must be an object with "server", "backends", "routes", "connectionLeaseMs", "$schema", got ["a"].',
    ],
    [
      'server: {}\nserver: {}',
      `gateway.yml, line 2, column 1: ${NOT_YAML}: Map keys must be unique.`,
    ],
    ['[', `gateway.yml, line 1, column 2: ${NOT_YAML}: Flow sequence must end with a ].`],
    [
      'server: !!set {}',
      `gateway.yml, line 1, column 9: ${NOT_YAML}: Unresolved tag: tag:yaml.org,2002:set.`,
    ],
    [
      '%YAML 1.1\n---\nserver: !!set {}',
      `gateway.yml, line 3, column 9: ${NOT_YAML}: Unresolved tag: tag:yaml.org,2002:set.`,
    ],
    [
      'server: !!js/function x',
      `gateway.yml, line 1, column 9: ${NOT_YAML}: Unresolved tag: tag:yaml.org,2002:js/function.`,
    ],
    [
      'routes: *x',
      `gateway.yml: ${NOT_YAML}: Unresolved alias (the anchor must be set before the alias): x.`,
    ],
    ['routes: &x [*x]', `gateway.yml: ${NOT_YAML}: The aliases in it stand for too much.`],
    [
      'server:\n  <<: {}',
      'gateway.yml, line 2, column 3: server: unknown field "<<". Known fields: "rateLimit".',
    ],
    [
      '1: 2',
      'gateway.yml, line 1, column 1: The file: unknown field "1". Known fields: "server", "backends", "routes", "connectionLeaseMs", "$schema".',
    ],
    [
      '"\\n": 2',
      'gateway.yml, line 1, column 1: The file: unknown field "\\n". Known fields: "server", "backends", "routes", "connectionLeaseMs", "$schema".',
    ],
    [
      'server: on',
      'gateway.yml, line 1, column 9: server must be an object with "rateLimit", got "on".',
    ],
  ])('is refused as YAML: %j', (text, message) => {
    expect(inYaml(text)).toBe(message);
  });

  it('is one document', () => {
    expect(inYaml('server: {}\n---\nroutes: []')).toMatch(
      /^gateway\.yml, line 2, column 1: is not YAML that can be read: Source contains multiple docu/,
    );
  });

  it('has at most 1000 aliases', () => {
    const text = `server: &a {}\nroutes: [${Array(1_001).fill('*a').join(', ')}]`;
    expect(inYaml(text)).toBe(`gateway.yml: ${NOT_YAML}: There are more than 1000 aliases in it.`);
  });

  it('leaves all objects as they are, whatever it says', () => {
    inYaml('__proto__: { hacked: 1 }\nconstructor: { prototype: { hacked: 1 } }');
    inJson('{"server":{"__proto__":{"hacked":1}}}');
    expect(({} as { hacked?: number }).hacked).toBeUndefined();
  });

  it('is no longer than 1 MB', () => {
    const long = `${EXAMPLE_JSON}${' '.repeat(1_048_577)}`;
    const advice = 'is more than 1048576. Hosts such as "*.example.com" stand for many.';
    expect(inJson(long)).toBe(
      `gateway.json: has ${Buffer.byteLength(long)} bytes, which ${advice}`,
    );
    expect(inYaml(long)).toContain(advice);
  });

  /** Small texts that stand for much, or that take long. */
  const laughs = (levels: number, each: number) =>
    Array.from({ length: levels }, (_, level) => {
      const list = Array<string>(each).fill(level === 0 ? 'lol' : `*a${level - 1}`);
      return `a${level}: &a${level} [${list.join(',')}]`;
    }).join('\n');
  it.each([
    ['a billion laughs', laughs(10, 10)],
    [
      'a few long laughs',
      `a: &a ${'x'.repeat(500_000)}\nroutes: [${Array(900).fill('*a').join()}]`,
    ],
    ['many aliases', `a: &a 1\nroutes: [${Array(200_000).fill('*a').join()}]`],
    ['many keys', Array.from({ length: 90_000 }, (_, key) => `k${key}: 1`).join('\n')],
    ['deep lists', '['.repeat(20_000)],
    ['deep maps', '{a: '.repeat(20_000)],
    [
      'a deep block',
      Array.from({ length: 1_400 }, (_, deep) => `${' '.repeat(deep)}a:`).join('\n'),
    ],
  ])('does not take long for %s', (_what, text) => {
    const costMs = workMs(() => expect(inYaml(text)).toMatch(/^gateway\.yml/));
    expect(costMs).toBeLessThan(10_000);
  });

  it('does not take long for deep JSON', () => {
    const costMs = workMs(() => {
      expect(inJson('['.repeat(500_000) + ']'.repeat(500_000))).toMatch(/^gateway\.json/);
      expect(inJson(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`)).toMatch(/^gateway\.json/);
    });
    expect(costMs).toBeLessThan(10_000);
  });

  it('is either refused with its name or passes the check, whatever it says', () => {
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .tuple(fc.nat(EXAMPLE_YAML.length), fc.nat(9), fc.string({ maxLength: 4 }))
        .map(([at, cut, put]) => EXAMPLE_YAML.slice(0, at) + put + EXAMPLE_YAML.slice(at + cut)),
    );
    const name = fc.constantFrom('gateway.json', 'gateway.yml', 'gateway');
    fc.assert(
      fc.property(text, name, (content, file) => {
        let config: GatewayConfig;
        try {
          config = parseGatewayFile(content, file, yaml);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidGatewayFileError);
          expect((error as Error).message.startsWith(file)).toBe(true);
          return;
        }
        expect(() => checkGatewayConfig(config)).not.toThrow();
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('watching a configuration file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-file-'));
  const path = join(folder, 'gateway.yml');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('tells what it says, and why it cannot be used', async () => {
    const heard: unknown[] = [];
    const told = (count: number) => until('the listener', () => heard.length >= count, 15_000);
    writeFileSync(path, EXAMPLE_YAML);
    const file = new WatchedFile(
      path,
      gatewayFileFormat(yaml),
      {
        onChange: (config) => heard.push(config),
        onError: ({ message }) => heard.push(message),
      },
      { quietMs: 20, pollMs: 20 },
    );
    await expect(file.start()).resolves.toEqual(EXAMPLE);
    writeFileSync(path, 'server: { rateLimit: { maxQps: 3 } }');
    await told(1);
    writeFileSync(path, 'server: { rateLimit: { maxQps: -3 } }');
    await told(2);
    rmSync(path);
    await told(3);
    file.close();
    expect(heard).toEqual([
      { server: { rateLimit: { maxQps: 3 } } },
      `${path}, line 1, column 32: server.rateLimit.maxQps ${LIMIT}, got -3.`,
      `${path}: cannot be read (ENOENT).`,
    ]);
  });
});
