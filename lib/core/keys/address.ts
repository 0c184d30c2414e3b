import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** One customer usually holds a whole /64 and can use any address of it. */
export const DEFAULT_IPV6_PREFIX_BITS = 64;

const ALL_BITS = 128;
const IPV4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;
const BRACKETED = /^\[([^\]]+)\](?::\d+)?$/;
/** Addresses that carry an IPv4 client through an IPv6 network (RFC 6052). */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * One way to write each client's address: IPv4 as it is, IPv6 as the network it belongs to, so that
 * rotating through a network brings no new buckets. Undefined for what is not an address: `req.ip`
 * can hold anything that a proxy was told.
 */
export function normalizeAddress(
  address: string | undefined,
  ipv6PrefixBits: number = DEFAULT_IPV6_PREFIX_BITS,
): string | undefined {
  if (address === undefined || isIPv4(address)) return address;
  const bare = withoutPortAndZone(address);
  if (isIPv4(bare)) return bare;
  return isIPv6(bare) ? normalizeIPv6(bare, ipv6PrefixBits) : undefined;
}

function normalizeIPv6(address: string, prefixBits: number): string {
  // ipaddr.js takes "::1.2.3.4" for a mapped address, which it is not.
  const parsed = ipaddr.IPv6.parse(address.replace(/^::(?=\d+\.)/, '::0:'));
  // Before masking: a mask would put every IPv4 client into one bucket.
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  if (parsed.match(NAT64)) return new ipaddr.IPv4(parsed.toByteArray().slice(-4)).toString();
  if (prefixBits >= ALL_BITS) return parsed.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${prefixBits}`);
  return `${network.toString()}/${prefixBits}`;
}

function withoutPortAndZone(address: string): string {
  const bare = IPV4_WITH_PORT.exec(address)?.[1] ?? BRACKETED.exec(address)?.[1] ?? address;
  const zone = bare.indexOf('%');
  return zone === -1 ? bare : bare.slice(0, zone);
}
