import type { Level } from '../../lib/gateway/gateway-levels.js';

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

/** A connection whose process died: it stays where it was counted then, until its leases end. */
interface DeadConnection {
  readonly counters: ReadonlySet<string>;
  readonly endsUs: number;
}

const NONE: ConnectionLimits = { maxConnections: -1, maxConnectionsPerClient: -1 };

/**
 * What a gateway should say about connections: it knows who is open, and counts anew whenever it is
 * asked, by the limits as they are then. There is no counter that could go wrong.
 */
export class ConnectionModel {
  #server = NONE;
  readonly #backends = new Map<string, ConnectionLimits>();
  readonly #routes = new Map<string, ConnectionLimits>();
  readonly #open = new Set<OpenConnection>();
  #dead: DeadConnection[] = [];

  constructor(
    /** The backend of each route. */
    private readonly backendOf: Readonly<Record<string, string>>,
    private readonly leaseUs: number,
  ) {}

  update(level: 'server' | 'backend' | 'route', id: string, limits: ConnectionLimits | null): void {
    if (level === 'server') this.#server = limits ?? NONE;
    else (level === 'backend' ? this.#backends : this.#routes).set(id, limits ?? NONE);
  }

  open(connection: OpenConnection): void {
    this.#open.add(connection);
  }

  release(connection: OpenConnection): void {
    this.#open.delete(connection);
  }

  /** A process is gone, and gives nothing back. */
  crash(process: number, nowUs: number): void {
    for (const connection of this.#open) {
      if (connection.process !== process) continue;
      this.#open.delete(connection);
      const counters = this.countersOf(connection).filter(({ limit }) => limit !== -1);
      const names = new Set(counters.map(({ name }) => name));
      this.#dead.push({ counters: names, endsUs: nowUs + this.leaseUs });
    }
  }

  passTo(nowUs: number): void {
    this.#dead = this.#dead.filter(({ endsUs }) => endsUs > nowUs);
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
    const open = [...this.#open].filter((connection) =>
      this.countersOf(connection).some((counter) => counter.name === name),
    );
    return open.length + this.#dead.filter(({ counters }) => counters.has(name)).length;
  }

  /** The levels that have no room for one more. */
  fullFor(caller: Caller): readonly Counter[] {
    return this.countersOf(caller).filter((counter) => this.countOf(counter)! >= counter.limit);
  }
}
