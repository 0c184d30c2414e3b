import type { Level } from '../../../lib/gateway/limits/level-limit.js';

/** What a level says of connections: its own, and those of each client. −1 is no limit. */
export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly maxConnectionsPerClient: number;
}

/** Who connects: over which route, and from where. */
export interface Caller {
  readonly route: string;
  readonly client: string;
}

/** A connection that was admitted, and the process that holds it. */
export interface OpenConnection extends Caller {
  readonly process: number;
}

/** Where a level of a caller is counted, and how many there may be. */
export interface Counter {
  readonly level: Level;
  readonly name: string;
  readonly limit: number;
}

/** Where a connection is counted, and until when. */
interface Counted {
  readonly counters: Set<string>;
  /** Infinity while its process lives. */
  endsUs: number;
}

const NONE: ConnectionLimits = { maxConnections: -1, maxConnectionsPerClient: -1 };

/**
 * What a gateway should say about connections. It remembers for each by which limits it was ever
 * counted, and adds up whenever it is asked: there is no number that could go wrong. A connection
 * counts by every limit that is or comes while it is open, and until it ends.
 */
export class ConnectionModel {
  #server = NONE;
  readonly #backends = new Map<string, ConnectionLimits>();
  readonly #routes = new Map<string, ConnectionLimits>();
  readonly #connections = new Map<OpenConnection, Counted>();

  constructor(
    /** The backend of each route. */
    private readonly backendOf: Readonly<Record<string, string>>,
    private readonly leaseUs: number,
  ) {}

  update(level: 'server' | 'backend' | 'route', id: string, limits: ConnectionLimits | null): void {
    if (level === 'server') this.#server = limits ?? NONE;
    else (level === 'backend' ? this.#backends : this.#routes).set(id, limits ?? NONE);
    for (const [connection, { counters, endsUs }] of this.#connections) {
      if (endsUs !== Infinity) continue;
      for (const name of this.#limitedNames(connection)) counters.add(name);
    }
  }

  open(connection: OpenConnection): void {
    const counters = new Set(this.#limitedNames(connection));
    this.#connections.set(connection, { counters, endsUs: Infinity });
  }

  release(connection: OpenConnection): void {
    this.#connections.delete(connection);
  }

  /** A process is gone, and gives nothing back: its leases end in time. */
  crash(process: number, nowUs: number): void {
    for (const [connection, counted] of this.#connections) {
      const dies = connection.process === process && counted.endsUs === Infinity;
      if (dies) counted.endsUs = nowUs + this.leaseUs;
    }
  }

  /** Time passes. Answers how many connections of the dead are forgotten. */
  passTo(nowUs: number): number {
    const before = this.#connections.size;
    for (const [connection, { endsUs }] of this.#connections) {
      if (endsUs <= nowUs) this.#connections.delete(connection);
    }
    return before - this.#connections.size;
  }

  /** In the order in which levels are told. */
  countersOf({ route, client }: Caller): readonly Counter[] {
    const backend = this.backendOf[route]!;
    const ofRoute = this.#routes.get(route) ?? NONE;
    const ofBackend = this.#backends.get(backend) ?? NONE;
    const said = [
      { scope: `route ${route}`, value: ofRoute.maxConnectionsPerClient },
      { scope: `backend ${backend}`, value: ofBackend.maxConnectionsPerClient },
      { scope: 'server', value: this.#server.maxConnectionsPerClient },
    ].find(({ value }) => value !== -1);
    return [
      { level: 'server', name: 'server', limit: this.#server.maxConnections },
      { level: 'route', name: `route ${route}`, limit: ofRoute.maxConnections },
      { level: 'backend', name: `backend ${backend}`, limit: ofBackend.maxConnections },
      {
        level: 'client',
        name: `client ${client} of ${said?.scope ?? 'nobody'}`,
        limit: said?.value ?? -1,
      },
    ];
  }

  /** Connections that count there; undefined where there is no limit. */
  countOf({ name, limit }: Counter): number | undefined {
    if (limit === -1) return undefined;
    return [...this.#connections.values()].filter(({ counters }) => counters.has(name)).length;
  }

  /** The levels that have no room for one more. */
  fullFor(caller: Caller): readonly Counter[] {
    return this.countersOf(caller).filter((counter) => this.countOf(counter)! >= counter.limit);
  }

  #limitedNames(caller: Caller): string[] {
    const limited = this.countersOf(caller).filter(({ limit }) => limit !== -1);
    return limited.map(({ name }) => name);
  }
}
