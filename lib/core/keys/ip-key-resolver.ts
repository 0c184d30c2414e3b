import { DEFAULT_IPV6_PREFIX_BITS, normalizeAddress } from './address.js';
import type { KeyResolver, RequestSource } from './key-resolver.js';

/** Addresses whose normal form is remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * Counts by client address. Believes `req.ip` alone, which the platform derives from the proxies it
 * was told to trust, and the socket when that is no address; never a forwarding header.
 */
export class IpKeyResolver implements KeyResolver {
  /** Empty: it returns whole keys, and the same string every time: one that is hashed already. */
  readonly prefix = '';
  readonly phase = 'guard';
  readonly reads = ['address'] as const;
  /** Clients come back: an IPv6 address takes 3 µs to parse and mask, looking it up 20 ns. */
  readonly #remembered = new Map<string, string>();

  constructor(private readonly ipv6PrefixBits: number = DEFAULT_IPV6_PREFIX_BITS) {}

  resolve({ ip, socket }: RequestSource): string | undefined {
    return this.#keyOf(ip) ?? this.#keyOf(socket?.remoteAddress);
  }

  #keyOf(address: string | undefined): string | undefined {
    if (address === undefined) return undefined;
    const remembered = this.#remembered.get(address);
    if (remembered !== undefined) return remembered;
    const normal = normalizeAddress(address, this.ipv6PrefixBits);
    return normal === undefined ? undefined : this.#remember(address, `ip:${normal}`);
  }

  #remember(address: string, key: string): string {
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(address, key);
    return key;
  }
}
