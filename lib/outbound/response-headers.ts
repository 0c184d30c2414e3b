/** One value as HTTP clients keep it. */
export type HeaderValue = string | readonly string[] | number | boolean | null | undefined;

/**
 * The headers of a response as any client hands them over: something with `get` (fetch, axios), or a
 * plain record in any spelling (Node, undici's `request`).
 */
export type ResponseHeaders =
  { get(name: string): unknown } | Readonly<Record<string, HeaderValue>>;

/**
 * The value of a header, without the white space around it; undefined when it is not there. Several
 * lines of the same header are one list.
 *
 * @param name in lower case
 */
export function headerOf(headers: ResponseHeaders, name: string): string | undefined {
  const value = hasGet(headers) ? headers.get(name) : recordValue(headers, name);
  if (Array.isArray(value)) return value.join(', ').trim();
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value.trim() : undefined;
}

/** A record may hold a header that is called "get". */
function hasGet(headers: ResponseHeaders): headers is { get(name: string): unknown } {
  return typeof headers.get === 'function';
}

function recordValue(headers: Readonly<Record<string, HeaderValue>>, name: string): HeaderValue {
  if (Object.hasOwn(headers, name)) return headers[name];
  const spelling = Object.keys(headers).find((key) => key.toLowerCase() === name);
  return spelling === undefined ? undefined : headers[spelling];
}
