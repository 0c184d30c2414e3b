/** Bounds the work for paths with escapes or dots: honest ones are shorter. */
const MAX_PATH_LENGTH = 4_096;
/** Paths that every server reads in the same way. */
const PLAIN = /^(?:\/[\w~!$&'()*+,=:@-][\w.~!$&'()*+,=:@-]*)+$/;
const SCHEME_AND_HOST = /^[a-z][a-z\d+.-]*:\/\/[^/\\]*/i;
const ESCAPE = /%([\da-f]{2})?/gi;
const UNRESERVED = /[\w.~-]/;
/** Characters that a path may contain only as an escape. */
const TO_ESCAPE = /[^\w.~!$&'()*+,;=:@%/-]/gu;
/** The escape of each byte. */
const ESCAPES: readonly string[] = Array.from(
  { length: 256 },
  (_, byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
);
const PARAMETERS = /;[^/\\]*/g;

/**
 * The path of a request target in the form in which paths are compared: a slash at the start and none
 * at the end, no empty and no dot segments, no query, letters, digits and `-._~` without escape.
 *
 * Servers do not agree on what a path means, so there may be several readings. The first follows
 * WHATWG URL and RFC 3986, then drops empty segments. The others are those of servers that:
 *
 * - decode every escape first (`%2F` is a slash);
 * - do not take a backslash for a slash;
 * - ignore what follows a `;` in a segment, or take it for the query;
 * - merge slashes before they resolve dots;
 *
 * and all combinations of these. A path that a browser sends has one reading, unless it contains a `;`
 * or an escaped punctuation mark.
 */
export interface RequestPath {
  readonly readings: readonly [string, ...string[]];
  /** Whether only the beginning was read, as the path is too long. */
  readonly cut: boolean;
}

/** Whether every server reads a path in the same way. */
export function isPlainPath(path: string): boolean {
  return PLAIN.test(path);
}

/** Reads the target of a request, such as `req.url`, in time proportional to its length. */
export function readPath(target: string): RequestPath {
  const path = pathIn(target);
  if (isPlainPath(path)) return { readings: [path], cut: false };
  const cut = path.length > MAX_PATH_LENGTH;
  return { readings: readingsOf(cut ? path.slice(0, MAX_PATH_LENGTH) : path), cut };
}

/** Drops the query, and the host that the target of a request to a proxy starts with. */
function pathIn(target: string): string {
  const end = target.search(/[?#]/);
  const path = end === -1 ? target : target.slice(0, end);
  return path.startsWith('/') ? path : path.replace(SCHEME_AND_HOST, '');
}

function readingsOf(path: string): readonly [string, ...string[]] {
  const readings = distinct([
    path.replace(ESCAPE, decodeUnreserved),
    path.replace(ESCAPE, decodeAscii),
  ])
    .flatMap((text) => (text.includes('\\') ? [text.replaceAll('\\', '/'), text] : [text]))
    .flatMap((text) => (text.includes(';') ? semicolonReadings(text) : [text]))
    .flatMap((text) => distinct([text, text.replace(/\/{2,}/g, '/')]))
    .map(withoutDots);
  return distinct(readings) as [string, ...string[]];
}

/** As it is; without what follows the `;` in each segment; without all that follows the first `;`. */
function semicolonReadings(text: string): string[] {
  return [text, text.replace(PARAMETERS, ''), text.slice(0, text.indexOf(';'))];
}

/** Resolves dot segments, drops empty ones and normalises the escapes of the others. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '.') kept.push(segment);
  }
  return `/${kept.filter((segment) => segment !== '').join('/')}`.replace(TO_ESCAPE, escaped);
}

function decodeUnreserved(escape: string, hex: string | undefined): string {
  const char = decoded(hex);
  return UNRESERVED.test(char) ? char : kept(escape, hex);
}

/** An escaped percent sign stays escaped: with what follows it could form another escape. */
function decodeAscii(escape: string, hex: string | undefined): string {
  const char = decoded(hex);
  return char !== '' && char !== '%' && char < '\x80' ? char : kept(escape, hex);
}

function decoded(hex: string | undefined): string {
  return hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16));
}

/** A percent sign that begins no escape stands for itself. */
function kept(escape: string, hex: string | undefined): string {
  return hex === undefined ? '%25' : escape.toUpperCase();
}

function escaped(char: string): string {
  // Node gives the bytes of a request as characters up to 255.
  return ESCAPES[char.codePointAt(0)!] ?? encodeURIComponent(isHalf(char) ? '\ufffd' : char);
}

/** Whether it is a lone surrogate, which has no encoding. */
function isHalf(char: string): boolean {
  return char.length === 1 && char >= '\ud800' && char <= '\udfff';
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
