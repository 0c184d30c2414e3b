import { isIPv6 } from 'node:net';
import { URL } from 'node:url';
import { quote, RateLimitError } from '../core/errors.js';

/** DNS knows no longer name. */
const MAX_LENGTH = 253;
/** A host may still carry a trailing dot and a port. */
const MAX_HOST_LENGTH = MAX_LENGTH + ':65535.'.length;

/**
 * Names that are written as they are counted. The last label starts with a letter, or it might be an
 * address in disguise ("127.1"); labels of punycode have to be looked at.
 */
const PLAIN = /^(?!.*xn--)(?=.{1,253}$)(?:[a-z\d_-]+\.)*[a-z][a-z\d_-]*$/;
const LABELS = /^[a-z\d_-]+(?:\.[a-z\d_-]+)*$/;
/** What stands before the host, the host with its port, and what follows. */
const URL_PARTS = /^(?:[a-z][a-z\d+.-]*:)?\/\/(?:[^/\\?#]*@)?([^/\\?#]*)/i;
const HOST_AND_REST = /^([^/\\?#@]*)(?:[/\\?#]|$)/;
/** Of a refused value nothing is shown that could be a password, a path or a query. */
const SHOWABLE = /^(?:[a-z][a-z\d+.-]*:\/\/)?(?:\[[\da-f:.]*\]?|[^/\\?#:]*)/i;

/** A domain that names no host. */
export class InvalidDomainError extends RateLimitError {
  override readonly name = 'InvalidDomainError';

  constructor(domain: unknown) {
    super(
      'INVALID_DOMAIN',
      `Expected a domain that names a host, got ${shown(domain)}. Write the name alone, such as ` +
        `"api.example.com", or an address: at most ${MAX_LENGTH} characters.`,
    );
  }
}

/**
 * The host name that limits are counted by, from whatever names the host: a name in any case, a name
 * with a port, a whole URL. International names become punycode, addresses get the one form that
 * URLs write (without brackets). Throws an `InvalidDomainError` when there is no host.
 */
export function normalizeDomain(text: string): string {
  // A test of anything but a string would read its text: undefined is no host called "undefined".
  if (typeof text !== 'string') throw new InvalidDomainError(text);
  return PLAIN.test(text) ? text : normalizeHost(text, hostIn(text.trim()));
}

function normalizeHost(text: string, host: string | undefined): string {
  const name = host === undefined ? undefined : parseHost(host)?.replace(/\.$/, '');
  if (name === undefined || !isName(name)) throw new InvalidDomainError(text);
  return name;
}

/** The host as it was written, with its port; undefined where none can be. */
function hostIn(text: string): string | undefined {
  if (isIPv6(text)) return `[${text}]`;
  const host = (URL_PARTS.exec(text) ?? HOST_AND_REST.exec(text))?.[1];
  // URLs silently lose tabs and line breaks.
  if (host === undefined || host.length > MAX_HOST_LENGTH || /\s/.test(host)) return undefined;
  return host;
}

/** Parsed as the URL of a request would be, so that one host has one name here and there. */
function parseHost(host: string): string | undefined {
  try {
    return new URL(`http://${host}`).hostname.replace(/^\[(.*)\]$/, '$1');
  } catch {
    return undefined;
  }
}

function isName(name: string): boolean {
  return name.length <= MAX_LENGTH && (LABELS.test(name) || isIPv6(name));
}

function shown(domain: unknown): string {
  // An object may be a URL, which writes its password when it is quoted.
  if (typeof domain !== 'string')
    return domain === null ? 'null' : `a value of type ${typeof domain}`;
  if (domain.includes('@')) return 'a text with an "@", not shown as it may hold a password';
  const start = SHOWABLE.exec(domain)?.[0] ?? '';
  return quote(start.length < domain.length ? `${start}...` : start);
}
