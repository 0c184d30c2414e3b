import { isIPv4 } from 'node:net';
import { DEFAULT_LEASE_MS } from '../../core/define-plan.js';
import { checked } from '../../core/check/check.js';
import type { Fields } from '../../core/check/containers.js';
import { list, object } from '../../core/check/containers.js';
import { Mistake, UnexpectedValue } from '../../core/check/mistake.js';
import type { Path } from '../../core/check/path.js';
import { checkedLater, optional, text, wholeNumber, withDefault } from '../../core/check/values.js';
import { listKnown, quote } from '../../core/errors.js';
import type {
  CompleteLimits,
  GatewayBackend,
  GatewayConfig,
  GatewayRoute,
} from './gateway-config.js';
import { configError, levelLimits, NO_LIMITS } from './gateway-config.js';
import { normalizeHost } from '../routes/host-name.js';
import { readPath } from '../routes/request-path.js';

/** A route with every default filled in, in the form in which requests are compared with it. */
export interface CheckedRoute {
  readonly id: string;
  /** In lower case, without port and trailing dot; `*.example.com` and `*` stand for many. */
  readonly host: string;
  /** With a slash at the start and none at the end: `/` is every path. */
  readonly path: string;
  /** The name of one of the backends. */
  readonly backend: string;
  readonly limits: CompleteLimits;
}

/** A configuration that works. */
export interface CheckedGateway {
  readonly connectionLeaseMs: number;
  readonly server: CompleteLimits;
  /** Limits by the name of the backend. */
  readonly backends: ReadonlyMap<string, CompleteLimits>;
  readonly routes: readonly CheckedRoute[];
}

/** Routes of a gateway at most, and backends at most. */
export const MAX_GATEWAY_ENTRIES = 10_000;
/** The shortest and the longest lease of connections. */
const [MIN_LEASE_MS, MAX_LEASE_MS] = [100, 86_400_000];

const NAME = /^(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;
const HOST =
  /^(?:\*|(?:\*\.)?[\p{L}\p{M}\p{N}_-]+(?:\.[\p{L}\p{M}\p{N}_-]+)*\.?(?::\d{1,5})?|\[[\da-fA-F:.]+\](?::\d{1,5})?)$/u;
const EXPECTED_HOST =
  'a host such as "api.example.com" or "[2001:db8::1]", "*.example.com" for all that are below, ' +
  'or "*" for any';
const WILDCARD = '*.';
/** Neither patterns, nor a query, nor anything that servers read in different ways. */
const PATH =
  /^(?!.*(?:\/:|:\/|%2[eEfF]|%5[cC]|(?:^|\/)\.{1,2}(?:\/|$)))[^\s*?#{}\\;\p{C}]{1,1000}$/u;
const EXPECTED_PATH =
  'what paths begin with, such as "/api", in at most 1000 characters and without patterns, query, ' +
  '";", dot segments and escaped slashes';

interface ServerFields extends Record<keyof NonNullable<GatewayConfig['server']>, unknown> {
  readonly rateLimit: CompleteLimits;
}

interface BackendFields extends Record<keyof GatewayBackend, unknown> {
  readonly name: string;
  readonly rateLimit: CompleteLimits;
}

interface RouteFields extends Record<keyof GatewayRoute, unknown> {
  readonly id: string | undefined;
  readonly host: string;
  readonly path: string;
  readonly backend: unknown;
  readonly rateLimit: CompleteLimits;
}

/** A configuration whose parts are fine, each by itself. */
export interface GatewayParts extends Record<keyof GatewayConfig, unknown> {
  readonly server: ServerFields;
  readonly backends: readonly BackendFields[];
  readonly routes: readonly RouteFields[];
  readonly connectionLeaseMs: number;
}

const name = text('a name of 1 to 200 printable characters', NAME);
const entries = { expected: 'a list', most: MAX_GATEWAY_ENTRIES };
const backend = object<BackendFields>({ name, rateLimit: levelLimits });
const route = object<RouteFields>({
  id: optional(name),
  host,
  path: pathPrefix,
  // Whether there is one of that name is seen when all are known.
  backend: checkedLater(),
  rateLimit: levelLimits,
});

/** The fields of a configuration. */
export const GATEWAY_FIELDS: Fields<GatewayParts> = {
  server: withDefault(object<ServerFields>({ rateLimit: levelLimits }), { rateLimit: NO_LIMITS }),
  backends: withDefault(list(backend, entries), []),
  routes: withDefault(list(route, entries), []),
  connectionLeaseMs: withDefault(
    wholeNumber(
      MIN_LEASE_MS,
      MAX_LEASE_MS,
      `a whole number of milliseconds from ${MIN_LEASE_MS} to ${MAX_LEASE_MS} (a day)`,
    ),
    DEFAULT_LEASE_MS,
  ),
};

const parts = object(GATEWAY_FIELDS);

/**
 * Checks a configuration and fills in what it leaves out. Throws an `InvalidGatewayConfigError` that
 * starts with the path of what is wrong, such as `routes[2].rateLimit.maxQps`.
 */
export function checkGatewayConfig(config: GatewayConfig): CheckedGateway {
  return checked((value, path) => assemble(parts(value, path)), config, configError);
}

/** Puts the parts together. Throws a `Mistake` where they do not fit. */
export function assemble(given: GatewayParts): CheckedGateway {
  const backends = backendsByName(given.backends);
  return Object.freeze({
    connectionLeaseMs: given.connectionLeaseMs,
    server: given.server.rateLimit,
    backends,
    routes: routesTo(backends, given.routes),
  });
}

function backendsByName(given: readonly BackendFields[]): ReadonlyMap<string, CompleteLimits> {
  const byName = new Map<string, CompleteLimits>();
  for (const [index, one] of given.entries()) {
    if (byName.has(one.name)) {
      const first = given.findIndex((other) => other.name === one.name);
      throw new Mistake(
        ['backends', index, 'name'],
        `${quote(one.name)} is the name of backends[${first}] as well. Keep one of them.`,
      );
    }
    byName.set(one.name, one.rateLimit);
  }
  return byName;
}

function routesTo(
  backends: ReadonlyMap<string, CompleteLimits>,
  given: readonly RouteFields[],
): readonly CheckedRoute[] {
  /** What has to differ, and which route has it. */
  const places = new Map<string, number>();
  const ids = new Map<string, number>();
  const routes = given.map((fields, index) => {
    const where: Path = ['routes', index];
    const one = checkedRoute(fields, backends, where);
    checkPlace(where, one, places.get(one.host + one.path));
    checkId(where, one, ids.get(one.id));
    places.set(one.host + one.path, index);
    ids.set(one.id, index);
    return one;
  });
  return Object.freeze(routes);
}

function checkedRoute(
  fields: RouteFields,
  backends: ReadonlyMap<string, CompleteLimits>,
  where: Path,
): CheckedRoute {
  const { id, host, path, rateLimit } = fields;
  return Object.freeze({
    id: name(id ?? defaultId(host, path), [...where, 'id']),
    host,
    path,
    backend: knownBackend(fields.backend, backends, [...where, 'backend']),
    limits: rateLimit,
  });
}

function defaultId(host: string, path: string): string {
  return path === '/' ? host : host + path;
}

function host(written: unknown, where: Path): string {
  const found = typeof written === 'string' && HOST.test(written) ? hostOf(written) : undefined;
  if (found !== undefined) return found;
  throw new UnexpectedValue(where, EXPECTED_HOST, written);
}

function hostOf(written: string): string | undefined {
  if (written === '*') return written;
  const wild = written.startsWith(WILDCARD);
  const name = normalizeHost(wild ? written.slice(WILDCARD.length) : written);
  if (!wild || name === undefined) return name;
  // Nothing is below an address.
  return isIPv4(name) ? undefined : WILDCARD + name;
}

function pathPrefix(written: unknown, where: Path): string {
  if (written === undefined) return '/';
  if (typeof written === 'string' && PATH.test(written)) {
    // Requests carry the bytes of other letters as escapes.
    const ascii = written.replace(/[^!-~]+/g, (letters) => encodeURIComponent(letters));
    const [path, ...others] = readPath(`/${ascii}`).readings;
    if (others.length === 0) return path;
  }
  throw new UnexpectedValue(where, EXPECTED_PATH, written);
}

function knownBackend(
  wanted: unknown,
  backends: ReadonlyMap<string, CompleteLimits>,
  where: Path,
): string {
  if (typeof wanted === 'string' && backends.has(wanted)) return wanted;
  const known = listKnown('backends', [...backends.keys()]);
  throw new Mistake(where, `unknown backend ${quote(wanted)}. ${known}`);
}

function checkPlace(where: Path, { host, path }: CheckedRoute, first: number | undefined): void {
  if (first === undefined) return;
  throw new Mistake(
    where,
    `${quote(host)} and ${quote(path)} are host and path of routes[${first}] as well. ` +
      'Keep one of them.',
  );
}

function checkId(where: Path, { id }: CheckedRoute, first: number | undefined): void {
  if (first === undefined) return;
  throw new Mistake(
    [...where, 'id'],
    `${quote(id)} is the id of routes[${first}] as well. Give it another.`,
  );
}
