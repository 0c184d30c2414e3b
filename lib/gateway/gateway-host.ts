import { URL } from 'node:url';

/** DNS knows no longer name. */
const MAX_LENGTH = 253;
/** A host may still carry a trailing dot and a port. */
const MAX_HOST_LENGTH = MAX_LENGTH + ':65535.'.length;
/**
 * A name that is written as it is compared, but for a trailing dot and a port. Its last label does
 * not start with a digit, or it might be an address in disguise ("127.1").
 */
const PLAIN = /^((?:[a-z\d_-]+\.)*[a-z_-][a-z\d_-]*)\.?(?::\d{1,5})?$/;
const COMPARABLE = /^(?:[a-z\d_-]+(?:\.[a-z\d_-]+)*|\[[\da-f:.]+\])$/;
/** What no host contains. A URL would end there, or take what stands before for a password. */
const FOREIGN = /[\s/\\?#@]/;

/**
 * The one form in which hosts are compared: lower case, without port and trailing dot, international
 * names in punycode, addresses as URLs write them. Undefined where the text names no host.
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
