import { isIPv4 } from 'node:net';
import { DEFAULT_LEASE_MS } from '../../core/define-plan.js';
import { listKnown, quote } from '../../core/errors.js';
import type { CompleteLimits, GatewayConfig } from './gateway-config.js';
import { checkFields, completeLimits, InvalidGatewayConfigError } from './gateway-config.js';
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
/** The fields of a configuration. */
export const GATEWAY_FIELDS: readonly string[] = [
  'server',
  'backends',
  'routes',
  'connectionLeaseMs',
];
/** The shortest and the longest lease of connections. */
const [MIN_LEASE_MS, MAX_LEASE_MS] = [100, 86_400_000];

const SERVER_FIELDS: readonly string[] = ['rateLimit'];
const BACKEND_FIELDS: readonly string[] = ['name', 'rateLimit'];
const ROUTE_FIELDS: readonly string[] = ['id', 'host', 'path', 'backend', 'rateLimit'];

const NAME = /^(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;
const EXPECTED_NAME = 'a name of 1 to 200 printable characters';
const HOST =
  /^(?:\*|(?:\*\.)?[\p{L}\p{M}\p{N}_-]+(?:\.[\p{L}\p{M}\p{N}_-]+)*\.?(?::\d{1,5})?|\[[\da-fA-F:.]+\](?::\d{1,5})?)$/u;
const WILDCARD = '*.';
/** Neither patterns, nor a query, nor anything that servers read in different ways. */
const PATH =
  /^(?!.*(?:\/:|:\/|%2[eEfF]|%5[cC]|(?:^|\/)\.{1,2}(?:\/|$)))[^\s*?#{}\\;\p{C}]{1,1000}$/u;

/**
 * Checks a configuration and fills in what it leaves out. Throws an `InvalidGatewayConfigError` that
 * starts with the path of what is wrong, such as `routes[2].rateLimit.maxQps`.
 */
export function checkGatewayConfig(config: GatewayConfig): CheckedGateway {
  checkFields('The gateway', config, GATEWAY_FIELDS);
  const backends = backendsIn(config.backends);
  return Object.freeze({
    connectionLeaseMs: leaseIn(config.connectionLeaseMs),
    server: serverIn(config.server),
    backends,
    routes: routesIn(config.routes, backends),
  });
}

function leaseIn(leaseMs: number = DEFAULT_LEASE_MS): number {
  const isWhole = Number.isSafeInteger(leaseMs);
  if (isWhole && leaseMs >= MIN_LEASE_MS && leaseMs <= MAX_LEASE_MS) return leaseMs;
  throw new InvalidGatewayConfigError(
    'connectionLeaseMs must be a whole number of milliseconds from ' +
      `${MIN_LEASE_MS} to ${MAX_LEASE_MS} (a day), got ${quote(leaseMs)}.`,
  );
}

function serverIn(server: GatewayConfig['server']): CompleteLimits {
  if (server !== undefined) checkFields('server', server, SERVER_FIELDS);
  return completeLimits('server.rateLimit', server?.rateLimit);
}

function backendsIn(backends: GatewayConfig['backends']): ReadonlyMap<string, CompleteLimits> {
  const checked = new Map<string, CompleteLimits>();
  for (const [index, backend] of entriesOf('backends', backends)) {
    const where = `backends[${index}]`;
    checkFields(where, backend, BACKEND_FIELDS);
    const name = nameIn(`${where}.name`, backend.name);
    if (checked.has(name)) {
      const first = [...checked.keys()].indexOf(name);
      throw new InvalidGatewayConfigError(
        `${where}.name: ${quote(name)} is the name of backends[${first}] as well. Keep one of them.`,
      );
    }
    checked.set(name, completeLimits(`${where}.rateLimit`, backend.rateLimit));
  }
  return checked;
}

function routesIn(
  routes: GatewayConfig['routes'],
  backends: ReadonlyMap<string, CompleteLimits>,
): readonly CheckedRoute[] {
  const checked: CheckedRoute[] = [];
  /** What has to differ, and which route has it. */
  const places = new Map<string, number>();
  const ids = new Map<string, number>();
  for (const [index, route] of entriesOf('routes', routes)) {
    const where = `routes[${index}]`;
    const one = routeIn(where, route, backends);
    checkPlace(where, one, places.get(one.host + one.path));
    checkId(where, one, ids.get(one.id));
    places.set(one.host + one.path, index);
    ids.set(one.id, index);
    checked.push(one);
  }
  return Object.freeze(checked);
}

function routeIn(
  where: string,
  route: NonNullable<GatewayConfig['routes']>[number],
  backends: ReadonlyMap<string, CompleteLimits>,
): CheckedRoute {
  checkFields(where, route, ROUTE_FIELDS);
  const host = hostIn(`${where}.host`, route.host);
  const path = pathIn(`${where}.path`, route.path);
  return Object.freeze({
    id: nameIn(`${where}.id`, route.id === undefined ? defaultId(host, path) : route.id),
    host,
    path,
    backend: backendIn(`${where}.backend`, route.backend, backends),
    limits: completeLimits(`${where}.rateLimit`, route.rateLimit),
  });
}

function defaultId(host: string, path: string): string {
  return path === '/' ? host : host + path;
}

function entriesOf<Entry>(
  where: string,
  entries: readonly Entry[] | undefined,
): Iterable<[number, Entry]> {
  if (entries === undefined) return [];
  if (!Array.isArray(entries)) {
    throw new InvalidGatewayConfigError(`${where} must be a list, got ${quote(entries)}.`);
  }
  if (entries.length > MAX_GATEWAY_ENTRIES) {
    throw new InvalidGatewayConfigError(
      `${where} must have at most ${MAX_GATEWAY_ENTRIES} entries, got ${entries.length}.`,
    );
  }
  return entries.entries();
}

function nameIn(where: string, name: unknown): string {
  if (typeof name === 'string' && NAME.test(name)) return name;
  throw new InvalidGatewayConfigError(`${where} must be ${EXPECTED_NAME}, got ${quote(name)}.`);
}

function hostIn(where: string, written: unknown): string {
  const host = typeof written === 'string' && HOST.test(written) ? hostOf(written) : undefined;
  if (host !== undefined) return host;
  throw new InvalidGatewayConfigError(
    `${where} must be a host such as "api.example.com" or "[2001:db8::1]", "*.example.com" for all ` +
      `that are below, or "*" for any, got ${quote(written)}.`,
  );
}

function hostOf(written: string): string | undefined {
  if (written === '*') return written;
  const wild = written.startsWith(WILDCARD);
  const name = normalizeHost(wild ? written.slice(WILDCARD.length) : written);
  if (!wild || name === undefined) return name;
  // Nothing is below an address.
  return isIPv4(name) ? undefined : WILDCARD + name;
}

function pathIn(where: string, written: unknown): string {
  if (written === undefined) return '/';
  if (typeof written !== 'string' || !PATH.test(written)) throw invalidPath(where, written);
  // Requests carry the bytes of other letters as escapes.
  const ascii = written.replace(/[^!-~]+/g, (letters) => encodeURIComponent(letters));
  const [path, ...others] = readPath(`/${ascii}`).readings;
  if (others.length > 0) throw invalidPath(where, written);
  return path;
}

function invalidPath(where: string, written: unknown): InvalidGatewayConfigError {
  return new InvalidGatewayConfigError(
    `${where} must be what paths begin with, such as "/api", in at most 1000 characters and without ` +
      `patterns, query, ";", dot segments and escaped slashes, got ${quote(written)}.`,
  );
}

function backendIn(
  where: string,
  name: unknown,
  backends: ReadonlyMap<string, CompleteLimits>,
): string {
  if (typeof name === 'string' && backends.has(name)) return name;
  throw new InvalidGatewayConfigError(
    `${where}: unknown backend ${quote(name)}. ${listKnown('backends', [...backends.keys()])}`,
  );
}

function checkPlace(where: string, { host, path }: CheckedRoute, first: number | undefined): void {
  if (first === undefined) return;
  throw new InvalidGatewayConfigError(
    `${where}: ${quote(host)} and ${quote(path)} are host and path of routes[${first}] as well. ` +
      'Keep one of them.',
  );
}

function checkId(where: string, { id }: CheckedRoute, first: number | undefined): void {
  if (first === undefined) return;
  throw new InvalidGatewayConfigError(
    `${where}.id: ${quote(id)} is the id of routes[${first}] as well. Give it another.`,
  );
}
