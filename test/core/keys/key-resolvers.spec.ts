import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError, RateLimitError } from '../../../lib/core/errors.js';
import type { KeyResolver } from '../../../lib/core/keys/key-resolver.js';
import { resolveKey } from '../../../lib/core/keys/key-resolver.js';
import type { KeyResolversOptions, KeySource } from '../../../lib/core/keys/key-resolvers.js';
import { KeyResolvers, phaseOf } from '../../../lib/core/keys/key-resolvers.js';

const REQUEST = {
  ip: '10.0.0.1',
  user: { id: 7, email: 'ann@example.com' },
  headers: { 'x-api-key': 'secret', 'x-tenant': 'acme' },
  tenant: 'acme',
};

const custom: KeyResolver = { prefix: 'mine', phase: 'guard', resolve: () => 'x' };

function keyOf(source: KeySource, options?: KeyResolversOptions, request: object = REQUEST) {
  return resolveKey(new KeyResolvers(options).from(source), request, 'context');
}

describe('a source of keys', () => {
  it.each([
    ['ip', 'ip:10.0.0.1'],
    ['principal', 'principal:7'],
    ['all', 'all'],
  ])('may be the name %j', (name, key) => {
    expect(keyOf(name)).toBe(key);
  });

  it('may be a property of the principal', () => {
    expect(keyOf('principal:email')).toContain('ann@example.com');
    expect(keyOf('principal:phone')).toBeUndefined();
  });

  it('may be a header', () => {
    expect(keyOf('header:x-api-key')).toMatch(/^header:x-api-key:[\w-]{22}$/);
    expect(keyOf('header:X-Api-Key')).toBe(keyOf('header:x-api-key'));
    expect(keyOf('header:x-other')).toBeUndefined();
  });

  it('may be a field of the body, the query or the route', () => {
    const request = { body: { email: 'Ada' }, query: { token: 't' }, params: { id: 7 } };
    expect(keyOf('body:email', {}, request)).toMatch(/^body:email:[\w-]{22}$/);
    expect(keyOf('query:token', {}, request)).toMatch(/^query:token:[\w-]{22}$/);
    expect(keyOf('param:id', {}, request)).toMatch(/^param:id:[\w-]{22}$/);
    expect(keyOf('body:other', {}, request)).toBeUndefined();
    const lower = { body: { email: ' ada' } };
    expect(keyOf('body:email:lower', {}, request)).toBe(keyOf('body:email:lower', {}, lower));
    expect(keyOf('body:email', {}, request)).not.toBe(
      keyOf('body:email', { keySecret: 'pepper' }, request),
    );
  });

  it('may be a function of the request and the context', () => {
    const source = (request: typeof REQUEST, context: string) => `${request.tenant}/${context}`;
    expect(keyOf(source)).toBe('function.source:acme/context');
  });

  it('may be a resolver', () => {
    expect(keyOf(custom)).toBe('mine:x');
  });

  it('may be a list of which the first answer counts', () => {
    const source = ['header:x-other', () => null, ['principal', 'ip']] as const;
    expect(keyOf(source)).toBe('principal:7');
    expect(keyOf(source, {}, { ip: '10.0.0.1' })).toBe('ip:10.0.0.1');
  });

  it.each([42, true, null, {}, { resolve: 'x' }])('may not be %j', (source) => {
    expect(() => keyOf(source as never)).toThrow(
      new InvalidOptionError(
        'key',
        'a name, a function, a resolver { prefix, phase, resolve } or a list of them',
        source,
      ),
    );
  });

  it('hashes headers with the secret of the options', () => {
    expect(keyOf('header:x-api-key', { keySecret: 'pepper' })).not.toBe(keyOf('header:x-api-key'));
    expect(keyOf('header:x-api-key', { keySecret: 'pepper' })).not.toBe(
      keyOf('header:x-api-key', { keySecret: 'salt' }),
    );
  });

  it('masks addresses by the bits of the options', () => {
    const request = { ip: '2001:db8:1:2::1' };
    expect(keyOf('ip', {}, request)).toBe('ip:2001:db8:1:2::/64');
    expect(keyOf('ip', { ipv6PrefixBits: 48 }, request)).toBe('ip:2001:db8:1::/48');
  });

  it.each([
    'plain',
    'IP',
    'ip:x',
    'all:x',
    'header',
    'header:',
    'body',
    'body:',
    'query',
    'param:',
    'params:id',
    'Body:email',
    'principal:',
    'function',
    '',
    'constructor',
    '__proto__',
    'toString',
  ])('that is unknown is refused with the known ones: %j', (name) => {
    const options = { keyResolvers: { tenant: custom, org: custom } };
    expect(() => keyOf(name, options)).toThrow(
      new RateLimitError(
        'UNKNOWN_KEY_RESOLVER',
        `Unknown key resolver "${name}". Known key resolvers: ` +
          '"ip", "principal", "all", "principal:<property>", "header:<name>", "body:<field>", ' +
          '"query:<field>", "param:<field>", "tenant", "org".',
      ),
    );
  });

  it('is refused inside a list as well', () => {
    expect(() => keyOf(['ip', 'plain'])).toThrow('Unknown key resolver "plain".');
  });

  it('is refused when the header or field cannot be one', () => {
    expect(() => keyOf('header:x api key')).toThrow(InvalidOptionError);
    expect(() => keyOf('body:email:upper')).toThrow(InvalidOptionError);
  });
});

describe('a registered name', () => {
  it.each([
    ['a function', (request: typeof REQUEST) => request.tenant, 'tenant:acme'],
    ['a resolver', custom, 'tenant:x'],
    ['a property of the principal', 'principal:email', 'tenant:ann@example.com'],
    ['an address', 'ip', 'tenant:ip:10.0.0.1'],
    ['a list', [() => undefined, 'ip'], 'tenant:ip:10.0.0.1'],
  ])('stands for %s', (_, source, key) => {
    expect(keyOf('tenant', { keyResolvers: { tenant: source as KeySource } })).toBe(key);
  });

  it('keeps its subjects apart from those of other names', () => {
    const keyResolvers = { tenant: () => 'acme', team: () => 'acme' };
    expect(keyOf('tenant', { keyResolvers })).not.toBe(keyOf('team', { keyResolvers }));
    expect(keyOf('tenant', { keyResolvers })).not.toBe(keyOf(() => 'acme'));
  });

  it('may build on one that was registered before', () => {
    const keyResolvers = { tenant: () => null, either: ['tenant', 'ip'] };
    expect(keyOf('either', { keyResolvers })).toBe('either:ip:10.0.0.1');
  });

  it('is handed the context', () => {
    const keyResolvers = { place: (_: unknown, context: string) => context };
    expect(keyOf('place', { keyResolvers })).toBe('place:context');
  });

  it.each(['A', 'my-key', 'my_key2', 'constructor', 'a'.repeat(64)])('may be %j', (name) => {
    expect(keyOf(name, { keyResolvers: { [name]: () => 1 } })).toBe(`${name}:1`);
  });

  it.each([
    'ip',
    'principal',
    'all',
    'header',
    'body',
    'query',
    'param',
    'function',
    'route',
    'sha256',
    '',
    '1st',
    '_id',
    'a b',
    'a:b',
    'header:x',
    'ключ',
    'a'.repeat(65),
  ])('may not be %j', (name) => {
    expect(() => new KeyResolvers({ keyResolvers: { [name]: custom } })).toThrow(
      new InvalidOptionError(
        'keyResolvers',
        'named by letters, digits, "_" or "-", and not ' +
          'ip, principal, all, header, body, query, param, function, route, sha256',
        name,
      ),
    );
  });
});

describe('the phase', () => {
  const late: KeyResolver = { ...custom, phase: 'interceptor' };
  const early: readonly KeySource[] = [
    'ip',
    'all',
    'header:x-api-key',
    'body:email:lower',
    'query:token',
    'param:id',
    custom,
    ['ip', custom],
    ['body:email', 'ip'],
  ];
  const afterGuards: readonly KeySource[] = [
    'principal',
    'principal:email',
    () => 'x',
    late,
    ['ip', 'principal'],
    ['ip', ['all', () => 'x']],
  ];

  it.each(early)('is the guard for %j', (source) => {
    expect(new KeyResolvers().from(source).phase).toBe('guard');
  });

  it.each(afterGuards)('is the interceptor for %j', (source) => {
    expect(new KeyResolvers().from(source).phase).toBe('interceptor');
  });

  it.each([...early, ...afterGuards])('can be told from %j alone', (source) => {
    expect(phaseOf(source)).toBe(new KeyResolvers().from(source).phase);
  });

  it('of a registered name is that of what it stands for', () => {
    const resolvers = new KeyResolvers({ keyResolvers: { early: 'ip', late: () => 'x' } });
    expect(resolvers.from('early').phase).toBe('guard');
    expect(resolvers.from('late').phase).toBe('interceptor');
  });

  it('of a registered name goes with what is read', () => {
    const keyResolvers = { account: ['body:email', 'ip'], user: 'principal', everybody: 'all' };
    const resolvers = new KeyResolvers({ keyResolvers });
    expect(resolvers.from('account').reads).toEqual(['body', 'address']);
    expect(resolvers.from('user').reads).toEqual(['user']);
    expect(resolvers.from('everybody').reads).toEqual([]);
    expect(resolvers.from(() => 'x').reads).toBeUndefined();
  });

  it('of a registered name is taken to be the later one while nothing else is known', () => {
    expect(phaseOf('tenant')).toBe('interceptor');
    expect(phaseOf(['ip', 'tenant'])).toBe('interceptor');
  });
});
