import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { HeldSlots, LeaseKeeper } from '../../../lib/core/held-slots.js';
import type { LimitStore } from '../../../lib/core/limit-store.js';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import type { GatewayAnswer } from '../../../lib/gateway/connections/gateway-answer.js';
import type { Level } from '../../../lib/gateway/limits/level-limit.js';
import { GatewayLimiter } from '../../../lib/gateway/gateway-limiter.js';
import { until } from '../../support/redis-servers.js';
import type { Caller, Counter, OpenConnection } from './connection-model.js';
import { ConnectionModel } from './connection-model.js';
import type { SharedLimits } from '../gateway-stores.js';
import { storeKinds } from '../gateway-stores.js';

const BACKEND_OF = { 'a-1': 'a', 'a-2': 'a', 'b-1': 'b' } as const;
const ROUTES = ['a-1', 'a-2', 'b-1'] as const;
const CLIENTS = ['192.0.2.1', '192.0.2.2'] as const;
const CALLERS = ROUTES.flatMap((route) => CLIENTS.map((client): Caller => ({ route, client })));
const PROCESSES = [0, 1] as const;
const LEASE_MS = 60_000;
/** Holders that live renew their leases before they end. */
const LONGEST_PAUSE_MS = 40_000;

const CONFIG = checkGatewayConfig({
  backends: [{ name: 'a' }, { name: 'b' }],
  routes: ROUTES.map((id) => ({ id, host: `${id}.example.com`, backend: BACKEND_OF[id] })),
});

const limit = fc.constantFrom(-1, -1, 0, 1, 2, 3, 4, 5);
const limits = fc.option(
  fc.record({ maxConnections: limit, maxConnectionsPerClient: limit }, { noNullPrototype: true }),
  { freq: 6 },
);
const place = fc.oneof(
  fc.constant({ level: 'server' as const, id: '' }),
  fc.constantFrom('a', 'b').map((id) => ({ level: 'backend' as const, id })),
  fc.constantFrom(...ROUTES).map((id) => ({ level: 'route' as const, id })),
);
const anyProcess = fc.constantFrom(...PROCESSES);
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('connect' as const),
      process: anyProcess,
      caller: fc.constantFrom(...CALLERS),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('release' as const),
      which: fc.nat(20),
      times: fc.constantFrom(1, 2),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      process: anyProcess,
      place,
      limits,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('clear' as const),
      process: anyProcess,
      what: fc.constantFrom('clearRouteLimiters' as const, 'clearClientLimiters' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('crash' as const), process: anyProcess }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pause' as const),
      ms: fc.constantFrom(1, LONGEST_PAUSE_MS, LONGEST_PAUSE_MS),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const steps = fc.array(step, { minLength: 30, maxLength: 80, size: 'max' });

/** Renews when it is told to. */
class Keeper implements LeaseKeeper {
  readonly #held = new Set<HeldSlots>();

  constructor(private readonly store: LimitStore) {}

  hold(slots: HeldSlots): void {
    this.#held.add(slots);
  }

  drop(slots: HeldSlots): void {
    this.#held.delete(slots);
  }

  limitHold(): void {}

  async renewAll(): Promise<void> {
    const leases = [...this.#held].flatMap(({ held }) => held ?? []);
    expect(await this.store.renew(leases)).toEqual(leases.map(() => true));
  }
}

/** Processes that share limits, and the model that says how they should behave. */
class World {
  readonly #model = new ConnectionModel(BACKEND_OF, LEASE_MS * 1_000);
  readonly #processes: { gateway: GatewayLimiter; keeper: Keeper }[] = [];
  readonly #open: { connection: OpenConnection; answer: GatewayAnswer }[] = [];
  readonly tally = { admitted: 0, denied: 0, expired: 0 };
  #leases = 0;

  constructor(private readonly shared: SharedLimits) {}

  async start(): Promise<void> {
    for (const process of PROCESSES) await this.#boot(process);
  }

  stop(): void {
    for (const { gateway } of this.#processes) gateway.stop();
  }

  async play(step: Step): Promise<void> {
    switch (step.kind) {
      case 'connect':
        return this.#connect(step);
      case 'release':
        return this.#release(step);
      case 'update':
        return this.#update(step);
      case 'clear':
        await this.#gateway(step.process)[step.what]();
        return this.#settle();
      case 'crash':
        return this.#crash(step.process);
      case 'pause':
        return this.#pause(step.ms);
      default:
        return step;
    }
  }

  async #boot(process: number): Promise<void> {
    const { store, documents } = this.shared.open();
    const keeper = new Keeper(store);
    const newLeaseId = () => `lease-${this.#leases++}`;
    const gateway = new GatewayLimiter(CONFIG, { store, documents, keeper, newLeaseId });
    await gateway.start();
    this.#processes[process] = { gateway, keeper };
  }

  #gateway(process: number): GatewayLimiter {
    return this.#processes[process]!.gateway;
  }

  async #connect({ process, caller }: Extract<Step, { kind: 'connect' }>): Promise<void> {
    const full = this.#model.fullFor(caller);
    const target = { routeId: caller.route, clientIp: caller.client };
    const answer = await this.#gateway(process).tryAcquireConnection(target);
    expect({ allowed: answer.allowed, full }).toEqual({ allowed: full.length === 0, full });
    if (answer.allowed) {
      const connection = { ...caller, process };
      this.#model.open(connection);
      this.#open.push({ connection, answer });
      this.tally.admitted++;
    } else {
      expect(full.map(({ level }) => level)).toContain(answer.denial?.level);
      expect(answer.held).toBeUndefined();
      this.tally.denied++;
    }
    await this.#compare(process);
  }

  async #release({ which, times }: Extract<Step, { kind: 'release' }>): Promise<void> {
    const [ending] = this.#open.splice(which, 1);
    if (!ending) return;
    const { connection, answer } = ending;
    this.#model.release(connection);
    await Promise.all(Array.from({ length: times }, () => answer.release()));
    await answer.release();
    await this.#compare(connection.process);
  }

  async #update({ process, place, limits }: Extract<Step, { kind: 'update' }>): Promise<void> {
    const gateway = this.#gateway(process);
    this.#model.update(place.level, place.id, limits);
    if (place.level === 'server') await gateway.updateServer(limits);
    else if (place.level === 'backend') await gateway.updateBackend(place.id, limits);
    else await gateway.updateRoute(place.id, limits);
    await this.#settle();
  }

  async #crash(process: number): Promise<void> {
    this.#gateway(process).stop();
    this.#model.crash(process, this.shared.clock.nowUs());
    const alive = this.#open.filter(({ connection }) => connection.process !== process);
    this.#open.splice(0, Infinity, ...alive);
    await this.#boot(process);
    await this.#compare(process);
  }

  async #pause(ms: number): Promise<void> {
    this.shared.clock.advanceMs(ms);
    this.tally.expired += this.#model.passTo(this.shared.clock.nowUs());
    for (const { keeper } of this.#processes) await keeper.renewAll();
    await this.#compare(0);
  }

  /** Until every process has heard of an update, and counts as it should. */
  async #settle(): Promise<void> {
    for (const process of PROCESSES) {
      await until(
        'the update to arrive',
        async () => (await this.#differences(process)) === '',
        2_000,
      ).catch(() => undefined);
      await this.#compare(process);
    }
  }

  async #compare(process: number): Promise<void> {
    expect(await this.#differences(process)).toBe('');
  }

  /** Where the gateway counts something else than the model. */
  async #differences(process: number): Promise<string> {
    const asked = CALLERS.flatMap((caller) =>
      this.#model.countersOf(caller).map((counter) => ({ caller, counter })),
    );
    const found = await Promise.all(
      asked.map(({ caller, counter }) => this.#used(process, caller, counter)),
    );
    return asked
      .map(({ counter }, i) => ({ counter, found: found[i], right: this.#model.countOf(counter) }))
      .filter(({ found: count, right }) => count !== right)
      .map(({ counter, found: count, right }) => `${counter.name}: ${count} for ${right}`)
      .join(', ');
  }

  async #used(process: number, caller: Caller, { level }: Counter): Promise<number | undefined> {
    const [id, routeId] = placeOf(level, caller);
    return (await this.#gateway(process).current(level, id, routeId)).connections;
  }
}

function placeOf(level: Level, { route, client }: Caller): [id: string, routeId?: string] {
  const backend = BACKEND_OF[route as keyof typeof BACKEND_OF];
  if (level === 'client') return [client, route];
  return [{ server: '', route, backend }[level]];
}

describe.each(storeKinds())('connections $name', (kind) => {
  afterAll(() => kind.close());

  it('are counted as they are, whatever comes and goes, dies and changes', async () => {
    const total = { admitted: 0, denied: 0, expired: 0 };
    const asTheModel = fc.asyncProperty(steps, async (sequence) => {
      const world = new World(kind.create());
      await world.start();
      try {
        for (const one of sequence) await world.play(one);
      } finally {
        world.stop();
      }
      total.admitted += world.tally.admitted;
      total.denied += world.tally.denied;
      total.expired += world.tally.expired;
    });
    await fc.assert(asTheModel, { numRuns: kind.runs, interruptAfterTimeLimit: 60_000 });
    // Sequences in which one of these never happens would show nothing.
    expect(Math.min(...Object.values(total))).toBeGreaterThan(kind.runs / 2);
  }, 120_000);
});
