import { quote } from '../core/errors.js';
import type { Phase } from '../core/keys/key-resolver.js';
import type { KeyResolvers, KeySource } from '../core/keys/key-resolvers.js';
import type { ChainOptions } from './chain-options.js';
import { linksOf } from './chain-options.js';

/** A key as it is written, and since when it is known. */
interface TimedKey {
  readonly phase: Phase;
  readonly name: string;
}

/** The keys of a chain, where some are known on arrival and only wait for the others. */
export function mixedKeysOf(chain: ChainOptions, resolvers: KeyResolvers): string | undefined {
  const { plan, key = 'ip', tokens, phase } = chain;
  const links = linksOf(plan);
  // It waits anyway.
  if (phase !== undefined || links === undefined || typeof tokens === 'function') return undefined;
  const sources = links.map((link) => (typeof link === 'string' ? key : (link.key ?? key)));
  const keys = sources.flatMap((source) => keysOf(source, resolvers));
  const early = namesOf(keys, 'guard');
  const late = namesOf(keys, 'interceptor');
  if (early === '' || late === '') return undefined;
  return `keys known ${early} on arrival, ${late} only after the guards`;
}

function keysOf(source: KeySource, resolvers: KeyResolvers): TimedKey[] {
  if (!isList(source)) return [{ phase: resolvers.from(source).phase, name: nameOf(source) }];
  const keys = source.flatMap((one) => keysOf(one, resolvers));
  const firstLate = keys.findIndex(({ phase }) => phase === 'interceptor');
  // What comes after a late key is not looked at before.
  return firstLate === -1 ? keys : keys.slice(0, firstLate + 1);
}

function namesOf(keys: readonly TimedKey[], phase: Phase): string {
  const names = keys.filter((key) => key.phase === phase).map(({ name }) => name);
  return [...new Set(names)].join(' and ');
}

function nameOf(source: Exclude<KeySource, readonly KeySource[]>): string {
  if (typeof source === 'function') return 'a function';
  return quote(typeof source === 'string' ? source : source.prefix);
}

function isList(source: KeySource): source is readonly KeySource[] {
  return Array.isArray(source);
}
