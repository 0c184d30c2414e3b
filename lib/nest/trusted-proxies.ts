import type { AbstractHttpAdapter } from '@nestjs/core';

/**
 * Which proxies the platform was told to trust: Express's setting `trust proxy`, Fastify's option
 * `trustProxy`. Undefined when it does not tell.
 */
export function trustedProxies(adapter: AbstractHttpAdapter): unknown {
  const platform: unknown = adapter.getInstance();
  switch (adapter.getType()) {
    case 'express':
      return (platform as { get(setting: string): unknown }).get('trust proxy');
    case 'fastify':
      return fastifyOption(platform as object, 'trustProxy');
    default:
      return undefined;
  }
}

/** Fastify tells this option nowhere else. Where it does not tell it here, nothing is diagnosed. */
function fastifyOption(instance: object, name: string): unknown {
  const symbols = Object.getOwnPropertySymbols(instance);
  const holder = symbols.find(({ description }) => description === 'fastify.options');
  if (!holder) return undefined;
  const options = (instance as Record<symbol, unknown>)[holder];
  return (options as Record<string, unknown> | undefined)?.[name] ?? false;
}
