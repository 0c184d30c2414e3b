import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import type { GatewayAnswer } from '../../../lib/gateway/connections/gateway-answer.js';
import type { Level, Resource } from '../../../lib/gateway/limits/level-limit.js';
import { GatewayLimiter } from '../../../lib/gateway/gateway-limiter.js';
import type { SharedLimits } from '../gateway-stores.js';
import { storeKinds } from '../gateway-stores.js';

const ROUTES = ['one', 'two'] as const;
const CLIENTS = ['192.0.2.1', '192.0.2.2', '192.0.2.3'] as const;
const LEVELS: readonly Level[] = ['server', 'route', 'backend', 'client'];

/** The eight limits of a chain, by level: requests, then connections. */
type Limits = Readonly<Record<Level, readonly [qps: number, connections: number]>>;

const pair = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }));
const eightLimits: fc.Arbitrary<Limits> = fc.record({
  server: pair,
  route: pair,
  backend: pair,
  client: pair,
});

/** Either a request, or the end of an earlier one. */
const step = fc.record({
  route: fc.constantFrom(...ROUTES),
  client: fc.constantFrom(...CLIENTS),
  release: fc.option(fc.nat(30), { freq: 3 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const steps = fc.array(step, { maxLength: 40, size: 'max' });

/** Both routes lead to one backend, so that all levels but the server are told apart. */
function start({ open }: SharedLimits, { server, route, backend, client }: Limits): GatewayLimiter {
  const clients = { maxQpsPerClient: client[0], maxConnectionsPerClient: client[1] };
  const config = checkGatewayConfig({
    server: { rateLimit: { maxQps: server[0], maxConnections: server[1] } },
    backends: [{ name: 'api', rateLimit: { maxQps: backend[0], maxConnections: backend[1] } }],
    routes: ROUTES.map((id) => {
      const rateLimit = { maxQps: route[0], maxConnections: route[1], ...clients };
      return { id, host: `${id}.example.com`, backend: 'api', rateLimit };
    }),
  });
  let leases = 0;
  return new GatewayLimiter(config, { ...open(), newLeaseId: () => `lease-${leases++}` });
}

/** Where a level of a request is counted, as it is asked for. */
function counterOf(level: Level, { route, client }: Step): [id: string, routeId?: string] {
  const places: Readonly<Record<Level, [id: string, routeId?: string]>> = {
    server: [''],
    route: [route],
    backend: ['api'],
    client: [client, route],
  };
  return places[level];
}

const EVERYTHING = ROUTES.flatMap((route) => CLIENTS.map((client) => ({ route, client }))).flatMap(
  (one) => LEVELS.map((level) => ({ level, step: { ...one, release: null } })),
);

/** A gateway, and what is used of its limits, counted by hand. */
class CountedGateway {
  readonly #gateway: GatewayLimiter;
  readonly #requests = new Map<string, number>();
  readonly #open: { step: Step; answer: GatewayAnswer }[] = [];
  denied = 0;
  admitted = 0;

  constructor(
    shared: SharedLimits,
    private readonly limits: Limits,
  ) {
    this.#gateway = start(shared, limits);
  }

  async play(step: Step): Promise<void> {
    const [ending] = step.release === null ? [] : this.#open.splice(step.release, 1);
    if (ending) await ending.answer.release();
    else await this.#enter(step);
    await this.#compare();
  }

  async #enter(step: Step): Promise<void> {
    const denial = this.#denialOf(step);
    const answer = await this.#gateway.enter({ routeId: step.route, clientIp: step.client });
    expect(answer.limits).toHaveLength(8);
    expect({ allowed: answer.allowed, held: answer.held !== undefined }).toEqual(
      denial ? { allowed: false, held: false } : { allowed: true, held: true },
    );
    if (denial) {
      expect(answer.denial).toMatchObject(denial);
      this.denied++;
      return;
    }
    this.admitted++;
    this.#open.push({ step, answer });
    for (const level of LEVELS) {
      const name = nameOf(level, step);
      this.#requests.set(name, (this.#requests.get(name) ?? 0) + 1);
    }
  }

  /** The first limit that says no, in the order in which they are told. */
  #denialOf(step: Step): { level: Level; resource: Resource } | undefined {
    for (const level of LEVELS) {
      const { qps, connections } = this.#used(level, step);
      const [maxQps, maxConnections] = this.limits[level];
      if (qps >= maxQps) return { level, resource: 'qps' };
      if (connections >= maxConnections) return { level, resource: 'connections' };
    }
    return undefined;
  }

  #used(level: Level, step: Step): { qps: number; connections: number } {
    const name = nameOf(level, step);
    const open = this.#open.filter((one) => nameOf(level, one.step) === name);
    return { qps: this.#requests.get(name) ?? 0, connections: open.length };
  }

  /** What the gateway says is used, of everything, is what was counted. */
  async #compare(): Promise<void> {
    const found = EVERYTHING.map(({ level, step }) =>
      this.#gateway.current(level, ...counterOf(level, step)),
    );
    const counted = EVERYTHING.map(({ level, step }) => this.#used(level, step));
    expect(await Promise.all(found)).toEqual(counted);
  }
}

function nameOf(level: Level, step: Step): string {
  return [level, ...counterOf(level, step)].join(' ');
}

describe.each(storeKinds())('a chain of eight limits $name', (kind) => {
  afterAll(() => kind.close());

  it('takes all of them or none', async () => {
    let [admitted, denied] = [0, 0];
    const allOrNothing = fc.asyncProperty(eightLimits, steps, async (limits, sequence) => {
      const gateway = new CountedGateway(kind.create(), limits);
      for (const one of sequence) await gateway.play(one);
      admitted += gateway.admitted;
      denied += gateway.denied;
    });
    await fc.assert(allOrNothing, { numRuns: kind.runs, interruptAfterTimeLimit: 60_000 });
    // Sequences in which nobody is refused, or nobody admitted, would show nothing.
    expect(Math.min(admitted, denied)).toBeGreaterThan(kind.runs);
  }, 120_000);
});
