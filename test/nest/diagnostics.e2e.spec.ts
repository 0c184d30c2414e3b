import 'reflect-metadata';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { DiagnosisCode, RateLimitOptions } from '../../lib/index.js';
import { MemoryStore, RateLimit, RateLimitModule } from '../../lib/index.js';
import { Diagnostics } from '../../lib/nest/diagnostics.js';
import { compileLib } from '../support/compiled-lib.mjs';
import { FakeClock } from '../support/fake-clock.js';
import type { Adapter, HttpApp } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

const run = promisify(execFile);

@Controller()
class HelloController {
  @Get()
  @RateLimit('100000/s')
  hello(): void {}

  @Get('free')
  free(): void {}
}

const forwarded = (client: string) => ({ headers: { 'X-Forwarded-For': client } });

const codesOf = ({ logs }: HttpApp) => logs.warnings.map((line) => line.split(':')[0]);

/** An application that trusts as it is told. */
function start(adapter: Adapter, trusted: unknown, options: RateLimitOptions = {}) {
  return startApp(
    adapter,
    { imports: [RateLimitModule.forRoot(options)], controllers: [HelloController] },
    { trustProxy: trusted },
  );
}

afterEach(async () => {
  delete process.env['NODE_APP_INSTANCE'];
  await closeApps();
});

describe.each(adapters)('diagnostics on %s', (adapter) => {
  it('say nothing while nothing looks wrong', async () => {
    const app = await start(adapter, false);
    await app.statuses(3, '/');
    expect(app.logs.warnings).toEqual([]);
  });

  it('tell once that X-Forwarded-For is ignored, and what to do', async () => {
    const app = await start(adapter, false);
    await app.get('/', forwarded('203.0.113.9'));
    await app.get('/', forwarded('203.0.113.10'));
    expect(codesOf(app)).toEqual(['FORWARDED_FOR_IGNORED']);
    expect(app.logs.warnings[0]).toContain(`trustProxy: '127.0.0.1'`);
    expect(app.logs.warnings[0]).toContain('diagnostics: false');
  });

  it('say nothing of requests that nothing limits', async () => {
    const app = await start(adapter, false);
    await app.get('/free', forwarded('203.0.113.9'));
    expect(app.logs.warnings).toEqual([]);
  });

  it('tell once that every proxy is trusted, at start', async () => {
    const app = await start(adapter, true);
    expect(codesOf(app)).toEqual(['TRUST_PROXY_TRUE']);
    await app.get('/', forwarded('203.0.113.9'));
    expect(codesOf(app)).toEqual(['TRUST_PROXY_TRUE']);
  });

  it.each(['127.0.0.1', 'loopback', ['127.0.0.0/8']])(
    'say nothing of a proxy that is named: %j',
    async (trusted) => {
      const app = await start(adapter, trusted);
      for (let i = 0; i < 120; i++) await app.get('/', forwarded(`203.0.113.${i}`));
      expect(app.logs.warnings).toEqual([]);
    },
  );

  it('tell once that clients of a proxy too many share one address', async () => {
    const app = await start(adapter, '127.0.0.1');
    const behindTwo = (client: number) => forwarded(`203.0.113.${client}, 10.0.0.7`);
    for (let i = 0; i < 99; i++) await app.get('/', behindTwo(i));
    expect(app.logs.warnings).toEqual([]);
    for (let i = 0; i < 99; i++) await app.get('/', behindTwo(i));
    expect(codesOf(app)).toEqual(['ONE_ADDRESS']);
  });

  it('say nothing of one client that comes often', async () => {
    const app = await start(adapter, '127.0.0.1');
    for (let i = 0; i < 120; i++) await app.get('/', forwarded('203.0.113.9'));
    expect(app.logs.warnings).toEqual([]);
  });

  it('stop looking once all is told or ruled out', async () => {
    const told = await start(adapter, false);
    expect(told.provider(Diagnostics).isWatching).toBe(true);
    await told.get('/', forwarded('203.0.113.9'));
    expect(told.provider(Diagnostics).isWatching).toBe(false);
    const ruledOut = await start(adapter, '127.0.0.1');
    await ruledOut.get('/', forwarded('203.0.113.9'));
    expect(ruledOut.provider(Diagnostics).isWatching).toBe(true);
    await ruledOut.get('/', forwarded('203.0.113.10'));
    expect(ruledOut.provider(Diagnostics).isWatching).toBe(false);
  });

  it('stop looking where no proxy shows', async () => {
    const diagnostics = (await start(adapter, false)).provider(Diagnostics);
    for (let i = 0; i < 9_999; i++) diagnostics.look({ headers: {} });
    expect(diagnostics.isWatching).toBe(true);
    diagnostics.look({ headers: {} });
    expect(diagnostics.isWatching).toBe(false);
  });

  it('are silenced by an option', async () => {
    process.env['NODE_APP_INSTANCE'] = '1';
    const ignored = await start(adapter, false, { diagnostics: false });
    await ignored.get('/', forwarded('203.0.113.9'));
    const trusting = await start(adapter, true, { diagnostics: false });
    await trusting.get('/', forwarded('203.0.113.9'));
    expect([...ignored.logs.warnings, ...trusting.logs.warnings]).toEqual([]);
  });

  it('tell a second instance under PM2 that it counts alone', async () => {
    process.env['NODE_APP_INSTANCE'] = '1';
    expect(codesOf(await start(adapter, false))).toEqual(['SEVERAL_PROCESSES']);
  });

  it('tell the only instance under PM2 nothing', async () => {
    process.env['NODE_APP_INSTANCE'] = '0';
    expect(codesOf(await start(adapter, false))).toEqual([]);
  });

  it('tell an instance that has a store of its own nothing', async () => {
    process.env['NODE_APP_INSTANCE'] = '1';
    const store = new MemoryStore(new FakeClock());
    expect(codesOf(await start(adapter, false, { store }))).toEqual([]);
  });
});

describe('diagnostics of numbers that are trusted', () => {
  it('tell that Fastify ignores them', async () => {
    const app = await start('fastify', 1);
    await app.get('/', forwarded('203.0.113.9'));
    await app.get('/', forwarded('203.0.113.9'));
    expect(codesOf(app)).toEqual(['TRUST_PROXY_NUMBER']);
  });

  it('say nothing on Express, which heeds them', async () => {
    const app = await start('express', 1);
    for (let i = 0; i < 120; i++) await app.get('/', forwarded(`203.0.113.${i}`));
    expect(app.logs.warnings).toEqual([]);
  });
});

describe('diagnostics in a worker of node:cluster', () => {
  const script = join(import.meta.dirname, 'processes', 'cluster-worker.mjs');

  const warningsWith = async (options: object): Promise<string[]> => {
    const argument = JSON.stringify({ lib: compileLib(), options });
    const { stdout } = await run(process.execPath, [script, argument], { timeout: 60_000 });
    return JSON.parse(stdout) as string[];
  };

  it('tell that it counts alone', async () => {
    const code: DiagnosisCode = 'SEVERAL_PROCESSES';
    expect(await warningsWith({})).toEqual([expect.stringContaining(`${code}: `)]);
  }, 60_000);

  it('say nothing when they are silenced', async () => {
    expect(await warningsWith({ diagnostics: false })).toEqual([]);
  }, 60_000);
});
