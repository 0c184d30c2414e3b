import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DocumentStore } from '../../lib/core/document-store.js';
import type { GatewayOptions } from '../../lib/gateway/config/gateway-options.js';
import type { Gateway } from '../../lib/gateway/create-gateway.js';
import { createGateway } from '../../lib/gateway/create-gateway.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { FakeClock } from '../support/fake-clock.js';

const OPTIONS: GatewayOptions = {
  server: { rateLimit: { maxQps: 10 } },
  backends: [{ name: 'api' }],
  routes: [{ id: 'r', host: '*', backend: 'api', rateLimit: { maxConnectionsPerClient: 1 } }],
};

describe('a gateway without Nest', () => {
  let store: MemoryStore;
  let made: Gateway[];
  let told: string[];

  beforeEach(() => {
    store = new MemoryStore(new FakeClock(1));
    [made, told] = [[], []];
  });

  afterEach(() => {
    for (const gateway of made) gateway.close();
  });

  async function create(
    options: GatewayOptions | undefined,
    documents: DocumentStore | undefined = store,
    keyOfClient?: (ip: string) => string,
  ): Promise<Gateway> {
    const gateway = await createGateway(options, {
      ...{ store, documents },
      ...(keyOfClient && { keyOfClient }),
      observer: {
        onLimit: ({ seenAs }) => told.push(`limit ${seenAs?.name}`),
        onChange: (what) => told.push(`change ${what}`),
        onRefused: (reason) => told.push(`refused ${reason}`),
        log: (level, line) => told.push(`${level} ${line}`),
      },
    });
    made.push(gateway);
    return gateway;
  }

  it('limits, changes while running, and says what it does', async () => {
    const { limiter } = await create(OPTIONS);
    expect(told).toEqual([
      'limit server-qps',
      'limit client-connections',
      'limit server-qps',
      'limit server-qps',
    ]);
    told.length = 0;
    await limiter.updateServer({ maxQps: 20 });
    expect(told).toEqual([
      'change server: maxQps 10 → 20',
      'info Limits of the server changed: maxQps 10 → 20.',
    ]);
  });

  it('says that updates of others cannot be read, and goes on', async () => {
    const { limiter } = await create(OPTIONS);
    told.length = 0;
    store.replaceDocument('gateway', 0, '{');
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual([
      expect.stringMatching(/^refused .*JSON/),
      expect.stringMatching(/^error The gateway stays as it is: .*JSON/),
    ]);
    expect(limiter.explain('r').values[0]).toMatchObject({ value: 10 });
  });

  it('does not start on a store that keeps no documents, and says what it needs', async () => {
    await expect(create(OPTIONS, null as never)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message:
        'Gateway limits that change while running need a store that keeps documents (the port ' +
        'DocumentStore), which the one in the option `store` does not: implement readDocument(), ' +
        'replaceDocument(), watchDocument() in it, or leave out the option `store`.',
    });
  });

  it('needs none where nothing is configured, until it is to be changed', async () => {
    const { limiter } = await create(undefined, null as never);
    expect((await limiter.enter({ clientIp: '192.0.2.1' })).allowed).toBe(true);
    await expect(limiter.updateServer({ maxQps: 1 })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
  });

  it('finds the key of a client once: not again where it was found before', async () => {
    let found = 0;
    const keyOfClient = (ip: string) => `${++found} ip:${ip}`;
    const { limiter } = await create(OPTIONS, store, keyOfClient);
    const { match } = limiter.find('any.example', '/');
    const first = await limiter.admit(match, 'ip:192.0.2.1');
    expect([first.allowed, found]).toEqual([true, 0]);
    expect((await limiter.admit(match, 'ip:192.0.2.1')).denial).toMatchObject({ level: 'client' });
    expect((await limiter.enter({ routeId: 'r', clientIp: '192.0.2.1' })).allowed).toBe(true);
    expect(found).toBe(1);
  });
});
