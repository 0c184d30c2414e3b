import 'reflect-metadata';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { SETTLING_PLANS, settlingContract } from '../contract/settling.contract.js';
import { PATIENT, Stage } from '../faults/stage.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { sharedRedis, until } from '../support/redis-servers.js';

settlingContract('Redis', async () => {
  const stage = new Stage();
  const options = { ...PATIENT, plans: SETTLING_PLANS, keyPrefix: 'settling' };
  const { limiter } = await stage.app(sharedRedis.url, options);
  return { limiter, close: () => stage.end() };
});

describeWithServers('native server', 'a charge made while Redis was away', () => {
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage();
  });

  afterEach(() => stage.end());

  it('comes back in the process that made it, and is no gift to the others', async () => {
    const server = await stage.server();
    const options = { ...PATIENT, plans: SETTLING_PLANS, onStoreFailure: 'local' } as const;
    const { limiter } = await stage.app(server.url, options);
    const left = async () => (await limiter.peek('ada', 'bucket')).remainingTokens;
    await server.signal('SIGKILL');
    const lease = await limiter.acquire('ada', 'bucket', 30);
    expect([lease.reason, lease.remainingTokens]).toEqual(['FAIL_LOCAL', 70]);
    await server.restart();
    await until('Redis', async () => (await limiter.peek('ada', 'bucket')).reason === 'ALLOWED');
    await limiter.allow('ada', 'bucket', 40);
    expect(await left()).toBe(60);
    await lease.settle('bucket', 10);
    expect(await left()).toBe(60);
    await server.signal('SIGKILL');
    const again = await limiter.acquire('ada', 'bucket', 1);
    expect([again.reason, again.remainingTokens]).toEqual(['FAIL_LOCAL', 89]);
  });
});
