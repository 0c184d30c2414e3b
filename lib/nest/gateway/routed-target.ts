import type { FrameworkRequest } from './upgrade-request.js';

/** Nothing, or a query, after a path with or without a slash at the end. */
const END = /^\/?(?:[?#]|$)/;

/**
 * The target of a request that the router uses. It can differ from what was sent: middleware of Express
 * may have changed `url`, and Express removes the path from it that a middleware is mounted on.
 */
export function routedTarget({ baseUrl, url = '/', originalUrl }: FrameworkRequest): string {
  // Fastify keeps the current target there.
  if (baseUrl === undefined) return originalUrl ?? url;
  if (baseUrl === '') return url;
  const isAsSent = originalUrl?.startsWith(baseUrl) && END.test(originalUrl.slice(baseUrl.length));
  if (isAsSent) return originalUrl!;
  // Mounted on every path, the middleware has all of the path in `baseUrl`.
  return url.startsWith('/') && !END.test(url) ? baseUrl + url : baseUrl;
}
