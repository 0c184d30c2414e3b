import type { StoreMessage } from './channels.js';
import type { Topic } from './topics.js';
import type { ServerStats } from './stats-snapshot.js';

/** Servers that are remembered. Those of a cluster that was rebuilt have other names. */
const MAX_SERVERS = 50;

type Server = { -readonly [Field in keyof ServerStats]: ServerStats[Field] };

/** Keeps how the servers of a store are, as their breakers tell it. */
export class StoreHealth {
  readonly #servers = new Map<string, Server>();
  #unreadable = 0;

  constructor(
    private readonly topic: Topic<StoreMessage>,
    private readonly timeMs: () => number,
  ) {}

  onDown(server: string, reason: string): void {
    const known = this.#servers.get(server);
    this.#servers.delete(server);
    this.#servers.set(server, {
      ...{ server, breaker: 'open', sinceAtMs: this.timeMs(), reason },
      outages: (known?.outages ?? 0) + 1,
      decidedWithout: known?.decidedWithout ?? 0,
    });
    if (this.#servers.size > MAX_SERVERS) this.#forgetOne();
    if (this.topic.isHeard) this.topic.publish({ event: 'down', server, reason });
  }

  onUp(server: string, downMs: number, decidedWithout: number): void {
    if (this.topic.isHeard) this.topic.publish({ event: 'up', server, downMs, decidedWithout });
    const known = this.#servers.get(server);
    if (!known) return;
    known.breaker = 'closed';
    known.sinceAtMs = this.timeMs();
    known.decidedWithout += decidedWithout;
  }

  onUnreadable(_plan: string): void {
    this.#unreadable++;
  }

  get unreadable(): number {
    return this.#unreadable;
  }

  /** Since when some server is away; null while none is. */
  get failingSinceAtMs(): number | null {
    const away = [...this.#servers.values()].filter(({ breaker }) => breaker === 'open');
    return away.length === 0 ? null : Math.min(...away.map(({ sinceAtMs }) => sinceAtMs));
  }

  /** Those that are away or were, the latest first. */
  servers(): readonly ServerStats[] {
    return [...this.#servers.values()].reverse().map((server) => ({ ...server }));
  }

  /** One that is well, if there is any. */
  #forgetOne(): void {
    const names = [...this.#servers].map(([name, { breaker }]) => ({ name, breaker }));
    const well = names.find(({ breaker }) => breaker === 'closed');
    this.#servers.delete((well ?? names[0]!).name);
  }
}
