/** Longer paths with escapes or dots in them are hardly meant, and take their time. */
const MAX_PATH_LENGTH = 4_096;
/** Segments that every server reads alike. */
const PLAIN = /^(?:\/[\w~!$&'()*+,=:@-][\w.~!$&'()*+,=:@-]*)+$/;
const SCHEME_AND_HOST = /^[a-z][a-z\d+.-]*:\/\/[^/\\]*/i;
const ESCAPE = /%([\da-f]{2})?/gi;
const UNRESERVED = /[\w.~-]/;
/** What a path may contain only as an escape. */
const TO_ESCAPE = /[^\w.~!$&'()*+,;=:@%/-]/gu;
/** How each byte is escaped. */
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
 * WHATWG URL and RFC 3986, then drops empty segments. The others are those of servers that decode
 * every escape first (`%2F` is a slash), for whom a backslash is no slash, that ignore what follows a
 * `;` in a segment, for whom a `;` begins the query, or that merge slashes before they resolve dots;
 * and of all that do several of these. What a browser sends has one reading, unless there is a `;` or the escape of a mark in it.
 */
export interface RequestPath {
  readonly readings: readonly [string, ...string[]];
  /** Whether only the beginning was read, as the path is too long. */
  readonly cut: boolean;
}

/** Whether a path is one that every server reads alike. */
export function isPlainPath(path: string): boolean {
  return PLAIN.test(path);
}

/** Reads the target of a request, such as `req.url`. Takes time in proportion to its length. */
export function readPath(target: string): RequestPath {
  const path = pathIn(target);
  if (isPlainPath(path)) return { readings: [path], cut: false };
  const cut = path.length > MAX_PATH_LENGTH;
  return { readings: readingsOf(cut ? path.slice(0, MAX_PATH_LENGTH) : path), cut };
}

/** Without the query, and without the host that the target of a request to a proxy starts with. */
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

/** As it is, without what follows in each segment, and without all that follows. */
function semicolonReadings(text: string): string[] {
  return [text, text.replace(PARAMETERS, ''), text.slice(0, text.indexOf(';'))];
}

/** Resolves dot segments, drops empty ones and writes the others in one way. */
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

/** A percent sign stays an escape, or it might make another one of what follows. */
function decodeAscii(escape: string, hex: string | undefined): string {
  const char = decoded(hex);
  return char !== '' && char !== '%' && char < '\x80' ? char : kept(escape, hex);
}

function decoded(hex: string | undefined): string {
  return hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16));
}

/** A percent sign that escapes nothing stands for itself. */
function kept(escape: string, hex: string | undefined): string {
  return hex === undefined ? '%25' : escape.toUpperCase();
}

function escaped(char: string): string {
  // Node gives the bytes of a request as characters up to 255.
  return ESCAPES[char.codePointAt(0)!] ?? encodeURIComponent(isHalf(char) ? '\ufffd' : char);
}

/** Half of a pair, which stands for nothing. */
function isHalf(char: string): boolean {
  return char.length === 1 && char >= '\ud800' && char <= '\udfff';
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
