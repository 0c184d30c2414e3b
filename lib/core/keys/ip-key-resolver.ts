import { DEFAULT_IPV6_PREFIX_BITS, normalizeAddress } from './address.js';
import type { KeyResolver, RequestSource } from './key-resolver.js';

/**
 * Counts by client address. Believes `req.ip` alone, which the platform derives from the proxies it
 * was told to trust, and the socket when that is no address; never a forwarding header.
 */
export class IpKeyResolver implements KeyResolver {
  readonly prefix = 'ip';
  readonly phase = 'guard';

  constructor(private readonly ipv6PrefixBits: number = DEFAULT_IPV6_PREFIX_BITS) {}

  resolve({ ip, socket }: RequestSource): string | undefined {
    return (
      normalizeAddress(ip, this.ipv6PrefixBits) ??
      normalizeAddress(socket?.remoteAddress, this.ipv6PrefixBits)
    );
  }
}
