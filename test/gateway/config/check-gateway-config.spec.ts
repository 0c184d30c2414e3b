import { describe, expect, it } from '@jest/globals';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import type { GatewayConfig } from '../../../lib/gateway/config/gateway-config.js';
import {
  InvalidGatewayConfigError,
  NO_LIMITS,
} from '../../../lib/gateway/config/gateway-config.js';

const check = (config: unknown) => checkGatewayConfig(config as GatewayConfig);
const BACKENDS = [{ name: 'api' }, { name: 'web' }];
const withRoutes = (...routes: unknown[]) => ({ backends: BACKENDS, routes });
const withRoute = (fields: object) => withRoutes({ host: 'a.com', backend: 'api', ...fields });

function messageOf(config: unknown): string {
  try {
    check(config);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidGatewayConfigError);
    expect(error).toMatchObject({ code: 'INVALID_OPTION', name: 'InvalidGatewayConfigError' });
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

describe('a configuration of the gateway', () => {
  it('is told completely', () => {
    const limits = { maxQps: 500, maxConnections: 0, maxQpsPerClient: -1 };
    const { server, backends, routes } = check({
      server: { rateLimit: { maxQps: 2_000 } },
      backends: [{ name: 'api-service', rateLimit: { maxConnectionsPerClient: 10 } }],
      routes: [
        { host: 'API.Example.com:8443', backend: 'api-service', rateLimit: limits },
        { id: 'users', host: '*', path: 'users/', backend: 'api-service' },
      ],
    });
    expect(server).toEqual({ ...NO_LIMITS, maxQps: 2_000 });
    expect([...backends]).toEqual([['api-service', { ...NO_LIMITS, maxConnectionsPerClient: 10 }]]);
    expect(routes).toEqual([
      {
        ...{ id: 'api.example.com', host: 'api.example.com', path: '/', backend: 'api-service' },
        limits: { ...limits, maxConnectionsPerClient: -1 },
      },
      { id: 'users', host: '*', path: '/users', backend: 'api-service', limits: NO_LIMITS },
    ]);
  });

  it.each([[{}], [{ server: undefined, backends: undefined, routes: undefined }]])(
    'may be as short as %j',
    (config) => {
      expect(check(config)).toEqual({
        server: NO_LIMITS,
        backends: new Map(),
        routes: [],
        connectionLeaseMs: 60_000,
      });
    },
  );

  it.each([
    ['a.com', 'a.com'],
    ['A.COM.', 'a.com'],
    ['a.com.:80', 'a.com'],
    ['*', '*'],
    ['*.Example.com', '*.example.com'],
    ['*.web2', '*.web2'],
    ['localhost:3000', 'localhost'],
    ['my_service', 'my_service'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['127.1', '127.0.0.1'],
    ['[2001:DB8:0::1]:80', '[2001:db8::1]'],
  ])('has the host %s as %s', (host, normal) => {
    expect(check(withRoute({ host })).routes[0]).toMatchObject({ host: normal, id: normal });
  });

  it.each([
    [undefined, '/', 'a.com'],
    ['/', '/', 'a.com'],
    ['//', '/', 'a.com'],
    ['/api', '/api', 'a.com/api'],
    ['api', '/api', 'a.com/api'],
    ['/api//v1/', '/api/v1', 'a.com/api/v1'],
    ['/%61pi', '/api', 'a.com/api'],
    ['/bücher', '/b%C3%BCcher', 'a.com/b%C3%BCcher'],
    ['/b%c3%bccher', '/b%C3%BCcher', 'a.com/b%C3%BCcher'],
    ['/.well-known', '/.well-known', 'a.com/.well-known'],
    ['/a:b', '/a:b', 'a.com/a:b'],
    ['/API', '/API', 'a.com/API'],
  ])('has the path %s as %s', (path, normal, id) => {
    expect(check(withRoute({ path })).routes[0]).toMatchObject({ path: normal, id });
  });

  const LIMIT = 'a whole number from -1 (no limit) to 1000000000000';
  it.each([
    [-2, '-2'],
    [-0.5, '-0.5'],
    [1.5, '1.5'],
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [1e12 + 1, '1000000000001'],
    ['10', '"10"'],
    [null, 'null'],
    [true, 'true'],
    [[1], '[1]'],
    [{}, '{}'],
  ])('limits nothing to %p', (value, shown) => {
    const problem = `must be ${LIMIT}, got ${shown}.`;
    const rateLimit = { maxQps: value };
    expect(messageOf({ server: { rateLimit } })).toBe(`server.rateLimit.maxQps ${problem}`);
    expect(messageOf({ backends: [...BACKENDS, { name: 'x', rateLimit }] })).toBe(
      `backends[2].rateLimit.maxQps ${problem}`,
    );
    expect(messageOf(withRoute({ rateLimit }))).toBe(`routes[0].rateLimit.maxQps ${problem}`);
  });

  it('refuses a lease that is too short', () => {
    expect(messageOf({ connectionLeaseMs: 99 })).toBe(
      'connectionLeaseMs must be a whole number of milliseconds from 100 to 86400000 (a day), got 99.',
    );
  });

  it.each(['maxQps', 'maxConnections', 'maxQpsPerClient', 'maxConnectionsPerClient'])(
    'names %s',
    (field) => {
      expect(messageOf({ server: { rateLimit: { [field]: -2 } } })).toBe(
        `server.rateLimit.${field} must be ${LIMIT}, got -2.`,
      );
    },
  );

  const NAME = 'a name of 1 to 200 printable characters';
  const HOST =
    'a host such as "api.example.com" or "[2001:db8::1]", "*.example.com" for all that are below, or "*" for any';
  const PATH =
    'what paths begin with, such as "/api", in at most 1000 characters and without patterns, query, ' +
    '";", dot segments and escaped slashes';
  it.each([
    [
      null,
      'The gateway must be an object with "server", "backends", "routes", "connectionLeaseMs", got null.',
    ],
    [
      [],
      'The gateway must be an object with "server", "backends", "routes", "connectionLeaseMs", got [].',
    ],
    [
      { route: [] },
      'The gateway: unknown field "route". Did you mean "routes"? Known fields: "server", "backends", "routes", "connectionLeaseMs".',
    ],
    [
      JSON.parse('{"__proto__":{}}'),
      'The gateway: unknown field "__proto__". Known fields: "server", "backends", "routes", "connectionLeaseMs".',
    ],
    [{ server: null }, 'server must be an object with "rateLimit", got null.'],
    [{ server: { maxQps: 1 } }, 'server: unknown field "maxQps". Known fields: "rateLimit".'],
    [
      { server: { rateLimit: null } },
      'server.rateLimit must be an object with "maxQps", "maxConnections", "maxQpsPerClient", "maxConnectionsPerClient", got null.',
    ],
    [
      { server: { rateLimit: { maxQPS: 1 } } },
      'server.rateLimit: unknown field "maxQPS". Did you mean "maxQps"? Known fields: "maxQps", "maxConnections", ' +
        '"maxQpsPerClient", "maxConnectionsPerClient".',
    ],
    [{ backends: { api: {} } }, 'backends must be a list, got {"api":{}}.'],
    [{ backends: [null] }, 'backends[0] must be an object with "name", "rateLimit", got null.'],
    [{ backends: [,] }, 'backends[0] must be an object with "name", "rateLimit", got undefined.'], // eslint-disable-line no-sparse-arrays -- the hole is what is tested
    [{ backends: [{}] }, `backends[0].name must be ${NAME}, got undefined.`],
    [{ backends: [{ name: '' }] }, `backends[0].name must be ${NAME}, got "".`],
    [{ backends: [{ name: ' ' }] }, `backends[0].name must be ${NAME}, got " ".`],
    [{ backends: [{ name: 7 }] }, `backends[0].name must be ${NAME}, got 7.`],
    [{ backends: [{ name: 'a\nb' }] }, `backends[0].name must be ${NAME}, got "a\\nb".`],
    [
      { backends: [...BACKENDS, { name: 'x', url: 'http://x' }] },
      'backends[2]: unknown field "url". Known fields: "name", "rateLimit".',
    ],
    [
      { backends: [...BACKENDS, { name: 'web' }] },
      'backends[2].name: "web" is the name of backends[1] as well. Keep one of them.',
    ],
    [{ routes: 7 }, 'routes must be a list, got 7.'],
    [
      withRoutes('a.com'),
      'routes[0] must be an object with "id", "host", "path", "backend", "rateLimit", got "a.com".',
    ],
    [
      withRoute({ hosts: [] }),
      'routes[0]: unknown field "hosts". Did you mean "host"? Known fields: "id", "host", "path", "backend", "rateLimit".',
    ],
    [withRoutes({ backend: 'api' }), `routes[0].host must be ${HOST}, got undefined.`],
    [withRoute({ host: '' }), `routes[0].host must be ${HOST}, got "".`],
    [withRoute({ host: 'http://a.com' }), `routes[0].host must be ${HOST}, got "http://a.com".`],
    [withRoute({ host: '*.1.2.3.4' }), `routes[0].host must be ${HOST}, got "*.1.2.3.4".`],
    [withRoute({ host: '1.2.3.256' }), `routes[0].host must be ${HOST}, got "1.2.3.256".`],
    [withRoute({ path: '' }), `routes[0].path must be ${PATH}, got "".`],
    [withRoute({ path: null }), `routes[0].path must be ${PATH}, got null.`],
    [withRoute({ path: '/api/*' }), `routes[0].path must be ${PATH}, got "/api/*".`],
    [withRoute({ path: '/users/:id' }), `routes[0].path must be ${PATH}, got "/users/:id".`],
    [withRoute({ path: '/a/../b' }), `routes[0].path must be ${PATH}, got "/a/../b".`],
    [withRoute({ path: '/a/%2E%2e/b' }), `routes[0].path must be ${PATH}, got "/a/%2E%2e/b".`],
    [withRoute({ path: '/a%2Fb' }), `routes[0].path must be ${PATH}, got "/a%2Fb".`],
    [withRoute({ path: '/a%3Bb' }), `routes[0].path must be ${PATH}, got "/a%3Bb".`],
    [withRoute({ id: '' }), `routes[0].id must be ${NAME}, got "".`],
    [withRoute({ id: null }), `routes[0].id must be ${NAME}, got null.`],
    [
      withRoutes({ host: 'a.com' }),
      'routes[0].backend: unknown backend undefined. Known backends: "api", "web".',
    ],
    [
      withRoute({ backend: 'apis' }),
      'routes[0].backend: unknown backend "apis". Known backends: "api", "web".',
    ],
    [
      { routes: [{ host: 'a.com', backend: '__proto__' }] },
      'routes[0].backend: unknown backend "__proto__". No backends are registered.',
    ],
    [
      withRoutes(
        { host: 'b.com', backend: 'api' },
        { host: 'a.com', backend: 'api', path: '/x' },
        { id: 'other', host: 'A.com:80', backend: 'web', path: 'x/' },
      ),
      'routes[2]: "a.com" and "/x" are host and path of routes[1] as well. Keep one of them.',
    ],
    [
      withRoutes(
        { host: 'a.com', backend: 'api', path: '/x' },
        { id: 'a.com/x', host: 'b.com', backend: 'api' },
      ),
      'routes[1].id: "a.com/x" is the id of routes[0] as well. Give it another.',
    ],
  ])('is refused: %j', (config, message) => {
    expect(messageOf(config)).toBe(message);
  });

  it('has names of at most 200 characters', () => {
    const name = '😀'.repeat(200);
    expect(check({ backends: [{ name }] }).backends.has(name)).toBe(true);
    expect(messageOf({ backends: [{ name: `${name}x` }] })).toMatch(
      /^backends\[0\]\.name must be /,
    );
    expect(messageOf(withRoute({ path: `/${'x'.repeat(300)}` }))).toMatch(
      /^routes\[0\]\.id must be /,
    );
    expect(check(withRoute({ id: 'x', path: `/${'x'.repeat(999)}` })).routes).toHaveLength(1);
    expect(messageOf(withRoute({ id: 'x', path: `/${'x'.repeat(1000)}` }))).toMatch(
      /^routes\[0\]\.path must be /,
    );
  });

  it('has at most 10 000 backends and routes', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);
    const config = (count: number) => ({
      backends: many(count).map((name) => ({ name })),
      routes: many(count).map((name) => ({ host: `${name}.com`, backend: name })),
    });
    const { backends, routes } = check(config(10_000));
    expect([backends.size, routes.length]).toEqual([10_000, 10_000]);
    expect(messageOf(config(10_001))).toBe(
      'backends must be a list with at most 10000 entries, got 10001.',
    );
    expect(messageOf({ ...config(10_001), backends: [] })).toBe(
      'routes must be a list with at most 10000 entries, got 10001.',
    );
  });

  it('cannot be changed afterwards', () => {
    const checked = check(withRoute({ rateLimit: { maxQps: 1 } }));
    const [route] = checked.routes;
    for (const part of [checked, checked.server, checked.routes, route, route!.limits]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});
