import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request, as the site saw it. */
export interface Visit {
  readonly atMs: number;
  readonly status: number;
}

/** How long a site takes to answer, as if it were some way off. */
const ANSWER_MS = 40;
/** How long a site that has lost its patience answers 429. */
const ANGRY_MS = 2_000;

/** A web site on this machine, which keeps a diary of its visitors. */
export class Site {
  readonly visits: Visit[] = [];
  #angryUntilMs: number | undefined;
  readonly #server = createServer((_request, response) => {
    const status = this.#statusAt(Date.now());
    this.visits.push({ atMs: Date.now(), status });
    if (status === 429) response.setHeader('Retry-After', ANGRY_MS / 1_000);
    response.writeHead(status, { 'Content-Type': 'text/html' });
    setTimeout(() => response.end(`<h1>${this.domain} says ${status}</h1>`), ANSWER_MS);
  });

  /** After `patience` requests it answers 429 for a while, once. */
  constructor(
    readonly domain: string,
    readonly pages: number,
    private readonly patience = Number.POSITIVE_INFINITY,
  ) {}

  get urls(): string[] {
    return Array.from({ length: this.pages }, (_, i) => `http://${this.domain}/pages/${i + 1}`);
  }

  /** Requests that came in the last second. */
  get perSecond(): number {
    const fromMs = Date.now() - 1_000;
    return this.visits.filter(({ atMs }) => atMs > fromMs).length;
  }

  /** Starts to listen and tells the port. */
  async start(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #statusAt(nowMs: number): number {
    if (this.visits.length >= this.patience) this.#angryUntilMs ??= nowMs + ANGRY_MS;
    return nowMs < (this.#angryUntilMs ?? 0) ? 429 : 200;
  }
}

/** The ports of the sites, by domain. */
export type Ports = Readonly<Record<string, number>>;

/** Starts all of them. */
export async function startAll(sites: readonly Site[]): Promise<Ports> {
  const starting = sites.map(async (site) => [site.domain, await site.start()] as const);
  return Object.fromEntries(await Promise.all(starting));
}

/**
 * A `fetch` that finds the sites. No DNS knows names under `.test`, and not every system takes
 * `docs.localhost` or 127.0.0.2 for itself, so each domain is a port here.
 */
export function fetchFrom(ports: Ports): typeof fetch {
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const { hostname, pathname } = url;
    return fetch(`http://127.0.0.1:${ports[hostname]}${pathname}`, init);
  };
}
