import { URL } from 'node:url';

/** The longest name in DNS. */
const MAX_LENGTH = 253;
/** A host may have a trailing dot and a port besides. */
const MAX_HOST_LENGTH = MAX_LENGTH + ':65535.'.length;
/**
 * A name in the form in which names are compared, except for a trailing dot and a port. Its last label
 * does not start with a digit: it could be another form of an address ("127.1").
 */
const PLAIN = /^((?:[a-z\d_-]+\.)*[a-z_-][a-z\d_-]*)\.?(?::\d{1,5})?$/;
const COMPARABLE = /^(?:[a-z\d_-]+(?:\.[a-z\d_-]+)*|\[[\da-f:.]+\])$/;
/** Characters that no host contains: in a URL they end the host, or make a password of what precedes. */
const FOREIGN = /[\s/\\?#@]/;

/**
 * Normalises a host for comparison: lower case, without port and trailing dot, international names in
 * punycode, addresses as URLs write them. Returns undefined if the text is no host.
 */
export function normalizeHost(text: string): string | undefined {
  if (text.length > MAX_HOST_LENGTH) return undefined;
  const name = PLAIN.exec(text.toLowerCase())?.[1] ?? parsedHost(text);
  return name !== undefined && name.length <= MAX_LENGTH ? name : undefined;
}

function parsedHost(text: string): string | undefined {
  if (FOREIGN.test(text)) return undefined;
  try {
    const name = new URL(`http://${text}`).hostname.replace(/\.$/, '');
    return COMPARABLE.test(name) ? name : undefined;
  } catch {
    return undefined;
  }
}
