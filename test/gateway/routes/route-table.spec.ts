import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import { RouteTable } from '../../../lib/gateway/routes/route-table.js';

/** A table of routes that are called by their host and path. */
function tableOf(...routes: string[]): RouteTable {
  return new RouteTable(checkedRoutes(routes));
}

function checkedRoutes(routes: readonly string[]) {
  const checked = checkGatewayConfig({
    backends: [{ name: 'one' }],
    routes: routes.map((route) => {
      const slash = route.indexOf('/');
      const [host, path] =
        slash === -1 ? [route, '/'] : [route.slice(0, slash), route.slice(slash)];
      return { id: route, host, path, backend: 'one' };
    }),
  });
  return checked.routes;
}

const TABLE = tableOf(
  ...['api.example.com', 'api.example.com/v1', 'api.example.com/v1/users/me'],
  ...['*.example.com', '*.eu.example.com', '*.example.com/admin'],
  ...['only.example.com/paid', '[2001:db8::1]', '192.0.2.1', '*/health'],
);

describe('the route of a request', () => {
  it.each([
    ['api.example.com', '/', 'api.example.com'],
    ['api.example.com', '/v2', 'api.example.com'],
    ['api.example.com', '/v1', 'api.example.com/v1'],
    ['api.example.com', '/v1/', 'api.example.com/v1'],
    ['api.example.com', '/v1?x=1', 'api.example.com/v1'],
    ['api.example.com', '/v1/users', 'api.example.com/v1'],
    ['api.example.com', '/v1/users/me', 'api.example.com/v1/users/me'],
    ['api.example.com', '/v1/users/me/posts', 'api.example.com/v1/users/me'],
    ['api.example.com', '/v1/users/men', 'api.example.com/v1'],
    ['api.example.com', '/v10', 'api.example.com'],
    ['api.example.com', '/V1', 'api.example.com/v1'],
    ['api.example.com', '/v1/USERS/Me/x', 'api.example.com/v1/users/me'],
    ['API.example.COM', '/v1', 'api.example.com/v1'],
    ['api.example.com:8443', '/v1', 'api.example.com/v1'],
    ['api.example.com.', '/v1', 'api.example.com/v1'],
    ['api.example.com', '/admin', 'api.example.com'],
    ['web.example.com', '/x', '*.example.com'],
    ['web.example.com', '/admin/x', '*.example.com/admin'],
    ['a.b.example.com', '/x', '*.example.com'],
    ['web.eu.example.com', '/x', '*.eu.example.com'],
    ['a.b.eu.example.com', '/x', '*.eu.example.com'],
    ['eu.example.com', '/x', '*.example.com'],
    ['only.example.com', '/paid', 'only.example.com/paid'],
    ['only.example.com', '/free', '*.example.com'],
    ['[2001:DB8::0:1]:80', '/', '[2001:db8::1]'],
    ['192.0.2.1:80', '/', '192.0.2.1'],
    ['other.org', '/health', '*/health'],
    ['user@api.example.com', '/health', '*/health'],
    [undefined, '/health', '*/health'],
  ])('of host %s, path %s is %s', (host, path, id) => {
    expect(TABLE.match(host, path)?.id).toBe(id);
  });

  it.each([
    ['example.com', '/'],
    ['badexample.com', '/'],
    ['com', '/'],
    ['other.org', '/'],
    ['other.org', '/healthy'],
    ['', '/'],
    ['__proto__', '/__proto__'],
    ['*', '/'],
    ['*.example.com', '/'],
    [undefined, '/'],
    ['user@api.example.com', '/v1'],
  ])('is none for host %s, path %s', (host, path) => {
    expect(TABLE.match(host, path)).toBeUndefined();
  });

  const TRICKS = [
    ...['//v1/x', '/./v1', '/x/../v1', '/v1/../v1', '/%76%31', '/v%31/x', '/x/%2e%2e/v1', '/\\v1'],
    ...['/%2e/v1', 'http://other.org/v1', '/v1%2fx', '/x%2f..%2fv1', '/v1;a=b/x', '/x/..;/v1'],
    ...['/v1//../y', '/a//../../v1', '/y%2f..%2f..%2fv1', '/v1/..%2fy', '/%2fv1', '/%5cv1'],
    ...['\\v1', '/v1\\x', '/x\\..\\v1', '//v1//', '/../v1', '/.;/v1', '/v1/a%2fb//../../y'],
  ];
  it.each(TRICKS)('is not escaped from by %s', (target) => {
    expect(TABLE.match('api.example.com', target)?.id).toBe('api.example.com/v1');
  });

  it('is ambiguous where readings of the path lead to different routes', () => {
    const ambiguous = TRICKS.filter((target) => TABLE.isAmbiguous('api.example.com', target));
    expect(ambiguous).toEqual([
      ...['/\\v1', '/v1%2fx', '/x%2f..%2fv1', '/v1;a=b/x', '/x/..;/v1', '/v1//../y'],
      ...['/y%2f..%2f..%2fv1', '/v1/..%2fy', '/%2fv1', '/%5cv1', '\\v1', '/v1\\x'],
      ...['/x\\..\\v1', '/.;/v1', '/v1/a%2fb//../../y'],
    ]);
    // Here all readings find the same route, or there is but one.
    for (const target of ['/v1/group%2Fname', '/v1/a;b=c', '/v1', '/x//../y', '/v1/x//../y']) {
      expect(TABLE.isAmbiguous('api.example.com', target)).toBe(false);
    }
    expect(TABLE.isAmbiguous('other.org', '/v1%2fx')).toBe(false);
    expect(TABLE.isAmbiguous('other.org', '/health%2fx')).toBe(true);
    expect(TABLE.isAmbiguous(undefined, '/health%2fx')).toBe(true);
  });

  it.each([
    ['/KIOSK/x', '*/kiosk'],
    ['/kios%E2%84%AA', '*/kiosk'],
    ['/kio%C5%BFk', '*/kiosk'],
    ['/%C3%9Cber', '*/%C3%BCber'],
    ['/%c3%bcBER', '*/%C3%BCber'],
    ['/%C3ber', undefined],
    ['/kiosks', undefined],
  ])('of %s is %s in any letter case', (path, id) => {
    expect(tableOf('*/kiosk', '*/%C3%BCber').match('a', path)?.id).toBe(id);
  });

  it('is told apart by letter case where that counts', () => {
    const table = new RouteTable(checkedRoutes(['*/api', '*/API', '*']), { caseSensitive: true });
    expect(['/api', '/API/x', '/Api'].map((path) => table.match('a', path)?.id)).toEqual([
      '*/api',
      '*/API',
      '*',
    ]);
  });

  it('is the one that is spelt alike, else the first, of routes that differ in letter case', () => {
    const table = tableOf('*/api', '*/API', '*/api/Users');
    const paths = ['/api', '/API', '/API/x', '/Api', '/API/USERS', '/APIS'];
    expect(paths.map((path) => table.match('a', path)?.id)).toEqual([
      ...['*/api', '*/API', '*/API', '*/api', '*/api/Users', undefined],
    ]);
  });

  it('is ambiguous where the target is too long to be read', () => {
    const long = `/${'x'.repeat(70_000)}/../v1`;
    expect(TABLE.isAmbiguous('api.example.com', long)).toBe(true);
    expect(TABLE.match('api.example.com', long)?.id).toBe('api.example.com');
    expect(TABLE.isAmbiguous('api.example.com', `/v1/${'x%2f'.repeat(2_000)}`)).toBe(true);
  });

  it('is that of a search through all routes', () => {
    const segment = fc.constantFrom('a', 'b', 'ab', 'c');
    const path = fc.array(segment, { maxLength: 4 }).map((names) => `/${names.join('/')}`);
    const name = fc.constantFrom('a.com', 'b.a.com', 'c.b.a.com', 'com', 'x.b.a.com');
    const host = fc.oneof(...[name, name.map((one) => `*.${one}`), fc.constant('*')]);
    const routes = fc.uniqueArray(
      fc.tuple(host, path).map((both) => both.join('')),
      {
        maxLength: 30,
      },
    );
    fc.assert(
      fc.property(routes, name, path, (all, asked, target) => {
        expect(tableOf(...all).match(asked, target)?.id).toBe(search(all, asked, target));
      }),
      { numRuns: 2_000 },
    );
  });

  it('costs the same among many', () => {
    const backends = [{ name: 'one' }];
    const many = Array.from({ length: 10_000 }, (_, index) => ({
      ...{ host: index % 2 === 0 ? 'a.com' : `*.h${index}.com`, path: `/p${index}` },
      backend: 'one',
    }));
    const time = (table: RouteTable) => {
      const run = () => {
        const start = performance.now();
        for (let index = 0; index < 20_000; index++) table.match('a.com', '/p2/x');
        return performance.now() - start;
      };
      return Math.min(run(), run(), run(), run(), run());
    };
    const large = new RouteTable(checkGatewayConfig({ backends, routes: many }).routes);
    const few = new RouteTable(checkGatewayConfig({ backends, routes: many.slice(0, 4) }).routes);
    expect(large.match('a.com', '/p9998/x')?.path).toBe('/p9998');
    expect(time(large)).toBeLessThan(10 * time(few) + 20);
  });
});

/** The rules by the letter, without any table. */
function search(routes: readonly string[], host: string, path: string): string | undefined {
  const fits = routes
    .map((id) => ({ id, host: id.split('/')[0]!, path: id.slice(id.indexOf('/')) }))
    .filter((route) => fitsHost(route.host, host) && `${path}/`.startsWith(slashed(route.path)))
    .sort(
      (one, other) =>
        Number(other.host === host) - Number(one.host === host) ||
        other.host.length - one.host.length ||
        other.path.length - one.path.length,
    );
  return fits[0]?.id;
}

function fitsHost(pattern: string, host: string): boolean {
  return (
    pattern === '*' ||
    pattern === host ||
    (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)))
  );
}

function slashed(path: string): string {
  return path === '/' ? path : `${path}/`;
}
