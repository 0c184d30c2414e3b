import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { describeWithServers } from '../../support/describe-with-servers.js';
import { until } from '../../support/redis-servers.js';
import type { Member } from './members.js';
import { Members } from './members.js';

// Processes and servers take their time on a busy machine.
jest.setTimeout(30_000);

const TARGET = { routeId: 'api', clientIp: '192.0.2.1' };

describeWithServers('native server', 'a gateway whose Redis is killed', () => {
  let members: Members;
  let folder: string;
  let file: string;
  let gateway: Member;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'floodgate-gateway-'));
    file = join(folder, 'gateway.json');
    write(2);
    members = await Members.meet();
    gateway = await members.join({ file }, { deadlineMs: 500 });
    for (let i = 0; i < 2; i++) await gateway.open(TARGET);
    expect(await gateway.open(TARGET)).toMatchObject({ allowed: false, level: 'route' });
    await members.server.kill();
  });

  afterEach(async () => {
    await members.part();
    rmSync(folder, { recursive: true });
  });

  function write(maxConnections: number): void {
    const routes = [{ id: 'api', host: '*', backend: 'api', rateLimit: { maxConnections } }];
    writeFileSync(file, JSON.stringify({ backends: [{ name: 'api' }], routes }));
  }

  const limit = async () => (await gateway.limits('api'))[3];

  it('lets requests go on, and limits them again when it is back', async () => {
    for (let i = 0; i < 5; i++) {
      expect(await gateway.open(TARGET)).toMatchObject({ allowed: true, reason: 'FAIL_OPEN' });
    }
    await members.server.start();
    await until('it to limit', async () => !(await gateway.open(TARGET)).allowed);
    expect(await gateway.open(TARGET)).toMatchObject({ allowed: false, level: 'route' });
  });

  it('refuses updates with the reason, and changes nothing', async () => {
    const update = () => gateway.updateRoute('api', { maxConnections: 9 });
    await expect(update()).rejects.toThrow(
      /^GATEWAY_UNAVAILABLE: The limits of the gateway stay as they are, for they could not be changed: \S/,
    );
    expect(await limit()).toBe(2);
    await members.server.start();
    await until('it to take updates', async () => update().catch(() => false));
    expect(await limit()).toBe(9);
  });

  it('takes over what its file says all the same, and keeps to it when it is back', async () => {
    write(7);
    await until('the file to be read', async () => (await limit()) === 7);
    expect(await gateway.open(TARGET)).toMatchObject({ allowed: true, reason: 'FAIL_OPEN' });
    await members.server.start();
    await until('it to limit', async () => (await gateway.open(TARGET)).reason !== 'FAIL_OPEN');
    expect(await limit()).toBe(7);
  });
});
