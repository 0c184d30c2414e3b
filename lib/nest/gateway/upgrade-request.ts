import type { IncomingMessage } from 'node:http';
import type { RequestSource } from '../../core/keys/key-resolver.js';

/** A request as frameworks extend it. */
export type FrameworkRequest = IncomingMessage &
  RequestSource & {
    /** The host, behind the proxies that the framework trusts. */
    readonly hostname?: string;
    readonly originalUrl?: string;
    /** The path that Express has removed from the front of `url`. */
    readonly baseUrl?: string;
  };

/** What a framework knows about a client. */
interface ClientView {
  readonly ip?: string;
  readonly hostname?: string;
}

/** An application of Express: what its requests inherit. */
interface ExpressLike {
  readonly request?: object;
}

/** An application of Fastify: the class of its requests, under a symbol of its own. */
type FastifyLike = Readonly<Record<symbol, { readonly prototype?: object } | undefined>>;

/**
 * Extends an upgrade request as the framework would. The framework never sees such a request, but it
 * alone knows which proxies to trust about the address and the host of a client. With an unknown
 * framework the request is returned as it is.
 */
export function upgradeRequest(request: IncomingMessage, framework: unknown): FrameworkRequest {
  const { headers, socket, url } = request;
  const view = expressView(request, framework) ?? fastifyView(request, framework);
  if (!view) return request;
  const { ip, hostname } = view;
  return { headers, socket, url, ip, hostname } as FrameworkRequest;
}

function expressView(request: IncomingMessage, framework: unknown): ClientView | undefined {
  const inherited = typeof framework === 'function' && (framework as ExpressLike).request;
  if (typeof inherited !== 'object') return undefined;
  const { headers, socket, url } = request;
  return Object.assign(Object.create(inherited) as ClientView, { headers, socket, url });
}

function fastifyView(request: IncomingMessage, framework: unknown): ClientView | undefined {
  if (typeof framework !== 'object' || framework === null) return undefined;
  const symbol = Object.getOwnPropertySymbols(framework).find(
    ({ description }) => description === 'fastify.Request',
  );
  const inherited = symbol && (framework as FastifyLike)[symbol]?.prototype;
  return inherited && Object.assign(Object.create(inherited) as ClientView, { raw: request });
}
