import type { KeyResolver, KeyValue, RequestSource } from './key-resolver.js';

const USUAL_PROPERTIES = ['id', 'sub', 'name'] as const;

/**
 * Counts by who was authenticated: the `id`, `sub` or `name` of `req.user`, or a property of your
 * choice. Known once the guards have run.
 */
export class PrincipalKeyResolver implements KeyResolver {
  readonly prefix: string;
  readonly phase = 'interceptor';
  readonly reads = ['user'] as const;
  readonly #properties: readonly string[];

  constructor(property?: string) {
    // A point, not a colon: no name that a user chose can look like another property.
    this.prefix =
      property === undefined ? 'principal' : `principal.${encodeURIComponent(property)}`;
    this.#properties = property === undefined ? USUAL_PROPERTIES : [property];
  }

  resolve({ user }: RequestSource): KeyValue {
    if (typeof user === 'string' || typeof user === 'number' || typeof user === 'bigint')
      return user;
    if (typeof user !== 'object' || user === null) return undefined;
    for (const property of this.#properties) {
      const value = (user as Record<string, KeyValue>)[property];
      const blank = typeof value === 'string' && value.trim() === '';
      if (value !== undefined && value !== null && !blank) return value;
    }
    return undefined;
  }
}
