import type { Awaitable } from '../awaitable.js';
import { InvalidOptionError, listKnown, quote, RateLimitError } from '../errors.js';
import { FieldKeyResolver, isFieldPlace } from './field-key-resolver.js';
import { FirstOfKeyResolver } from './first-of-key-resolver.js';
import { HeaderKeyResolver } from './header-key-resolver.js';
import { IpKeyResolver } from './ip-key-resolver.js';
import type { KeyResolver, KeyValue, Phase, RequestSource } from './key-resolver.js';
import { PrincipalKeyResolver } from './principal-key-resolver.js';

/** Finds the key in the request; the second argument is Nest's execution context. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the user knows the request's type
export type KeyFunction = (request: any, context: any) => Awaitable<KeyValue>;

/**
 * Whom to count: `'ip'`, `'header:x-api-key'`, a field such as `'body:email'`, `'query:token'` or
 * `'param:id'` (`'body:email:lower'` ignores case), `'principal'`, `'principal:email'`, `'all'` (one
 * bucket for everybody), a name from `keyResolvers`, a function of the request, or a list of these
 * of which the first that finds something counts.
 */
export type KeySource = string | KeyFunction | KeyResolver | readonly KeySource[];

/** What the resolvers that are known by name are made with. */
export interface KeyResolversOptions {
  readonly keyResolvers?: Readonly<Record<string, KeySource>> | undefined;
  readonly ipv6PrefixBits?: number | undefined;
  readonly keySecret?: string | undefined;
}

const BUILT_IN = ['ip', 'principal', 'all'] as const;
const RESERVED = new Set<string>([
  ...BUILT_IN,
  'header',
  'body',
  'query',
  'param',
  'function',
  'route',
  'sha256',
]);
const WITH_ARGUMENT = [
  'principal:<property>',
  'header:<name>',
  'body:<field>',
  'query:<field>',
  'param:<field>',
] as const;
/** Names whose keys are known on arrival. */
const ON_ARRIVAL = /^(?:ip|all|(?:header|body|query|param):.*)$/s;
const RESOLVER_NAME = /^[A-Za-z][\w-]{0,63}$/;

/** One bucket for everybody, under the key that code would use for it. */
const EVERYBODY: KeyResolver = { prefix: '', phase: 'guard', reads: [], resolve: () => 'all' };

/** Turns what users write as `key` into resolvers. */
export class KeyResolvers {
  readonly #registered = new Map<string, KeyResolver>();
  readonly #ip: KeyResolver;
  readonly #keySecret: string | undefined;

  constructor(options: KeyResolversOptions = {}) {
    this.#ip = new IpKeyResolver(options.ipv6PrefixBits);
    this.#keySecret = options.keySecret;
    for (const [name, source] of Object.entries(options.keyResolvers ?? {})) {
      this.#registered.set(name, renamed(name, this.from(source)));
    }
  }

  /** The resolver that a source stands for, or an error that lists the known ones. */
  from(source: KeySource): KeyResolver {
    if (typeof source === 'string') return this.#named(source);
    if (typeof source === 'function') return functionResolver(source);
    if (isSourceList(source) && source.length > 0) {
      return new FirstOfKeyResolver(source.map((one) => this.from(one)));
    }
    if (isResolver(source)) return source;
    throw new InvalidOptionError(
      'key',
      'a name, a function, a resolver { prefix, phase, resolve } or a list of them',
      source,
    );
  }

  #named(name: string): KeyResolver {
    const [kind, argument] = splitOnce(name);
    if (name === 'ip') return this.#ip;
    if (name === 'all') return EVERYBODY;
    if (kind === 'principal' && argument !== '') return new PrincipalKeyResolver(argument);
    if (kind === 'header' && argument) return new HeaderKeyResolver(argument, this.#keySecret);
    if (isFieldPlace(kind) && argument) {
      return new FieldKeyResolver(kind, argument, this.#keySecret);
    }
    const registered = this.#registered.get(name);
    if (registered) return registered;
    const known = [...BUILT_IN, ...WITH_ARGUMENT, ...this.#registered.keys()];
    throw new RateLimitError(
      'UNKNOWN_KEY_RESOLVER',
      `Unknown key resolver ${quote(name)}. ${listKnown('key resolvers', known)}`,
    );
  }
}

/** Since when a source can be known, as far as it can be told without the registered names. */
export function phaseOf(source: KeySource): Phase {
  if (typeof source === 'string') return ON_ARRIVAL.test(source) ? 'guard' : 'interceptor';
  if (typeof source === 'function') return 'interceptor';
  if (isSourceList(source)) {
    return source.some((one) => phaseOf(one) === 'interceptor') ? 'interceptor' : 'guard';
  }
  // Anything else is not a source, which is told at start, where the handler can be named.
  return (source as KeyResolver | null)?.phase ?? 'interceptor';
}

function renamed(name: string, resolver: KeyResolver): KeyResolver {
  if (!RESOLVER_NAME.test(name) || RESERVED.has(name)) {
    throw new InvalidOptionError(
      'keyResolvers',
      `named by letters, digits, "_" or "-", and not ${[...RESERVED].join(', ')}`,
      name,
    );
  }
  return {
    prefix: name,
    phase: resolver.phase,
    reads: resolver.reads,
    resolve: (request: RequestSource, context?: unknown) => resolver.resolve(request, context),
  };
}

function functionResolver(resolve: KeyFunction): KeyResolver {
  return { prefix: `function.${encodeURIComponent(resolve.name)}`, phase: 'interceptor', resolve };
}

function isResolver(source: unknown): source is KeyResolver {
  const { prefix, phase, resolve } = (source ?? {}) as Partial<KeyResolver>;
  const known = phase === 'guard' || phase === 'interceptor';
  return typeof resolve === 'function' && typeof prefix === 'string' && known;
}

function isSourceList(source: KeySource): source is readonly KeySource[] {
  return Array.isArray(source);
}

function splitOnce(name: string): [kind: string, argument: string | undefined] {
  const colon = name.indexOf(':');
  return colon === -1 ? [name, undefined] : [name.slice(0, colon), name.slice(colon + 1)];
}
