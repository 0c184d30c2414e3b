import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { GatewayConfig } from '../../../lib/index.js';
import { describeWithServers } from '../../support/describe-with-servers.js';
import { until } from '../../support/redis-servers.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import type { Member } from './members.js';
import { Members, mostAtOnce, nowMs } from './members.js';

// Processes and servers take their time on a busy machine.
jest.setTimeout(30_000);

const GATEWAY: GatewayConfig = {
  backends: [{ name: 'api' }],
  routes: [{ id: 'api', host: '*', backend: 'api' }],
};
const TARGET = { routeId: 'api', clientIp: '192.0.2.1' };
/** By when the others have to know, and what a busy machine may need to tell that they do. */
const REACHES_IN_MS = 1_000;

describeWithServers('native server', 'an update of one of two gateways', () => {
  let members: Members;
  let proxy: TcpProxy;
  let one: Member;
  let other: Member;

  beforeEach(async () => {
    members = await Members.meet();
    proxy = await TcpProxy.to(members.server);
    [one, other] = await Promise.all([
      members.join(GATEWAY),
      members.join(GATEWAY, { redis: proxy.url }),
    ]);
  });

  afterEach(async () => {
    await members.part();
    await proxy.close();
  });

  /** How long it took until the limit of the route was known there. */
  async function reaches(member: Member, maxConnections: number): Promise<number> {
    const fromMs = nowMs();
    await until('the update', async () => (await member.limits('api'))[3] === maxConnections);
    return nowMs() - fromMs;
  }

  it('reaches the other within a second, in both directions', async () => {
    expect(await one.updateRoute('api', { maxConnections: 7 })).toBe(true);
    expect(await reaches(other, 7)).toBeLessThan(REACHES_IN_MS);
    expect(await other.updateRoute('api', { maxConnections: 7 })).toBe(false);
    expect(await other.updateRoute('api', { maxConnections: 8 })).toBe(true);
    expect(await reaches(one, 8)).toBeLessThan(REACHES_IN_MS);
  });

  it('counts what the other has open already', async () => {
    const open = [await other.open(TARGET), await other.open(TARGET), await one.open(TARGET)];
    expect(open.every(({ allowed }) => allowed)).toBe(true);
    expect(await one.connections()).toBeUndefined();
    await one.updateServer({ maxConnections: 2 });
    const fromMs = nowMs();
    await until('all to be counted', async () => (await one.connections()) === 3);
    expect(nowMs() - fromMs).toBeLessThan(REACHES_IN_MS);
    for (const member of [one, other]) {
      expect(await member.open(TARGET)).toMatchObject({ allowed: false, level: 'server' });
    }
    await other.release(open[0]!.id);
    expect(await one.open(TARGET)).toMatchObject({ allowed: false, level: 'server' });
    await other.release(open[1]!.id);
    expect(await one.open(TARGET)).toMatchObject({ allowed: true });
  });

  it('that could not be heard is caught up with when it can', async () => {
    proxy.fallSilent();
    expect(await one.updateRoute('api', { maxConnections: 4 })).toBe(true);
    expect((await other.limits('api'))[3]).toBe(-1);
    proxy.speakAgain();
    await reaches(other, 4);
    expect(await other.open(TARGET)).toMatchObject({ allowed: true });
  });

  it('is not lost however often the connection for news is cut', async () => {
    const cutting = setInterval(
      () => void members.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'),
      3,
    );
    for (let i = 1; i <= 50; i++) {
      await (i % 2 === 0 ? one : other).updateRoute('api', { maxConnections: i });
    }
    clearInterval(cutting);
    await Promise.all([reaches(one, 50), reaches(other, 50)]);
    expect(await one.updateRoute('api', { maxConnections: 50 })).toBe(false);
  });

  it('never admits more than the largest of its limits while they go up and down', async () => {
    await one.updateServer({ maxConnections: 3 });
    await until('the other to know', async () => (await other.connections()) === 0);
    const visiting = { target: TARGET, callers: 6, forMs: 2_000, holdMs: 15 };
    const visits = Promise.all([one.visit(visiting), other.visit(visiting)]);
    const endMs = nowMs() + visiting.forMs;
    for (let i = 0; nowMs() < endMs; i++) {
      const member = i % 2 === 0 ? one : other;
      await member.updateServer({ maxConnections: 3 + ((i * 2) % 5), maxQps: -1 });
      await pause(10);
    }
    const all = (await visits).flat();
    expect(all.every(({ reason }) => reason === 'ALLOWED')).toBe(true);
    expect(mostAtOnce(all)).toBeGreaterThan(3);
    expect(mostAtOnce(all)).toBeLessThanOrEqual(7);
    await until('all to be given back', async () => (await one.connections()) === 0);
  });
});
