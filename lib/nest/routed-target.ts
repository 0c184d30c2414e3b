import type { FrameworkRequest } from './upgrade-request.js';

/** Nothing, or a query, after a path with or without a slash at the end. */
const END = /^\/?(?:[?#]|$)/;

/**
 * The target of a request that the router goes by. That is not always what was sent: middleware of
 * Express may have changed `url`, and Express takes the path off it that a middleware is mounted on.
 */
export function routedTarget({ baseUrl, url = '/', originalUrl }: FrameworkRequest): string {
  // Fastify has put the changed one there.
  if (baseUrl === undefined) return originalUrl ?? url;
  if (baseUrl === '') return url;
  const isAsSent = originalUrl?.startsWith(baseUrl) && END.test(originalUrl.slice(baseUrl.length));
  if (isAsSent) return originalUrl!;
  // Mounted on every path, it has taken all of the path, whatever host the target names.
  return url.startsWith('/') && !END.test(url) ? baseUrl + url : baseUrl;
}
