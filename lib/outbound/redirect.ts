/** What a response says, as far as redirects go. */
export interface RedirectSource {
  readonly status: number;
  readonly location: string | undefined;
  /** The URL that answered, with the fragment of the request. */
  readonly url: string;
  readonly method: string;
}

/** Where to go on, and how. */
export interface Redirect {
  readonly url: URL;
  readonly method: string;
  /** Whether the body stays behind, with the headers that describe it. */
  readonly dropsBody: boolean;
  /** Whether credentials stay behind. */
  readonly leavesOrigin: boolean;
}

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const BODY_HEADERS = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
];
const ORIGIN_HEADERS = ['authorization', 'proxy-authorization', 'cookie', 'host'];
/** Visible characters of ASCII: a Location that needs no decoding. */
const PLAIN = /^[\x21-\x7e]*$/;

/**
 * Where a response leads, by the rules of the fetch standard; undefined when it is an answer. Throws
 * where `fetch` fails: the address cannot be read, or is none of HTTP.
 */
export function redirectOf(source: RedirectSource): Redirect | undefined {
  const { status, location } = source;
  if (!STATUSES.has(status) || location === undefined) return undefined;
  const url = resolved(location, source.url);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new Error('URL scheme must be a HTTP(S) scheme');
  }
  const becomesGet = turnsIntoGet(status, source.method.toUpperCase());
  return {
    url,
    method: becomesGet ? 'GET' : source.method,
    dropsBody: becomesGet,
    leavesOrigin: url.origin !== new URL(source.url).origin,
  };
}

/** The names of headers that are not sent on. */
export function headersLeftBehind({ dropsBody, leavesOrigin }: Redirect): readonly string[] {
  return [...(dropsBody ? BODY_HEADERS : []), ...(leavesOrigin ? ORIGIN_HEADERS : [])];
}

function turnsIntoGet(status: number, method: string): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD';
  return (status === 301 || status === 302) && method === 'POST';
}

/** A fragment is kept unless the new address has one. */
function resolved(location: string, base: string): URL {
  const text = PLAIN.test(location) ? location : Buffer.from(location, 'latin1').toString('utf8');
  const url = new URL(text, base);
  if (url.hash === '') url.hash = new URL(base).hash;
  return url;
}
