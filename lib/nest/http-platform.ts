import type { HttpServer } from '@nestjs/common';

/** What newer adapters tell of their router. */
interface MatchingOptions {
  getRouteMatchingOptions?(): { readonly caseSensitive?: boolean };
}

/** An application of Express, or of Fastify. */
interface Instance {
  readonly router?: { readonly caseSensitive?: boolean };
  readonly initialConfig?: {
    readonly caseSensitive?: boolean;
    readonly routerOptions?: { readonly caseSensitive?: boolean };
    readonly exposeHeadRoutes?: boolean;
  };
}

/** Whether the platform is sure to tell paths apart by letter case, as it is configured. */
export function isCaseSensitive(adapter: HttpServer): boolean {
  const told = (adapter as MatchingOptions).getRouteMatchingOptions?.();
  if (told) return told.caseSensitive === true;
  const { router, initialConfig } = instanceOf(adapter);
  if (!initialConfig) return router?.caseSensitive === true;
  const { caseSensitive, routerOptions } = initialConfig;
  return caseSensitive !== false && routerOptions?.caseSensitive !== false;
}

/** Whether a route for GET is also for HEAD. */
export function servesHeadByGet(adapter: HttpServer): boolean {
  return instanceOf(adapter).initialConfig?.exposeHeadRoutes !== false;
}

/** Whether the first route that matches is sure to be taken. */
export function takesFirstRoute(adapter: HttpServer): boolean {
  return adapter.getType?.() === 'express';
}

function instanceOf(adapter: HttpServer): Instance {
  return (adapter.getInstance() ?? {}) as Instance;
}
