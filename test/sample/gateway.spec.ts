import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compileSample } from '../support/compiled-sample.mjs';
import { until } from '../support/redis-servers.js';

interface Tally {
  readonly statuses: Record<string, number>;
  readonly refusedBy: Record<string, number>;
}

/** What it prints with `--json`. */
interface Figures {
  readonly levels: readonly { readonly level: string; readonly tally: Tally }[];
  readonly hotUpdate: { readonly before: Tally; readonly after: Tally };
  readonly tightening: object;
  readonly webSocket: object;
  readonly logged: readonly object[];
  readonly left: object;
}

const run = promisify(execFile);
const sample = compileSample('03-gateway');
const folder = dirname(sample.main);

/** Where a run keeps what is temporary. */
function temporary(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

afterAll(() => sample.remove());

describe('the gateway', () => {
  const tmp = temporary('tmp-shown');
  let figures: Figures;
  let told: string;

  // Fails when it ends with another code than 0, or not by itself.
  beforeAll(async () => {
    const options = { env: { TMPDIR: tmp }, timeout: 60_000 };
    const { stdout, stderr } = await run(process.execPath, [sample.main, '--json'], options);
    figures = JSON.parse(stdout) as Figures;
    told = stderr;
  }, 70_000);

  function tallyOf(level: string): Tally {
    return figures.levels.find((one) => one.level === level)!.tally;
  }

  it('refuses what is too many for a client, to the connection', () => {
    expect(tallyOf('client')).toEqual({
      statuses: { 200: 20, 429: 5 },
      refusedBy: { 'client-connections': 5 },
    });
  });

  it.each([
    { level: 'route', asked: 20, limit: 5 },
    { level: 'backend', asked: 30, limit: 10 },
    { level: 'server', asked: 300, limit: 100 },
  ])('refuses what is too much for the $level, and names it', ({ level, asked, limit }) => {
    const { statuses, refusedBy } = tallyOf(level);
    const { 200: admitted, 429: refused } = statuses;
    expect(Object.keys(statuses)).toEqual(['200', '429']);
    expect(admitted! + refused!).toBe(asked);
    expect(refusedBy).toEqual({ [`${level}-qps`]: refused });
    // What passed in the scenes before this one may still be counted for the server.
    const spent = level === 'server' ? 20 + 20 + 30 : 0;
    expect(admitted).toBeGreaterThanOrEqual(limit - spent);
  });

  it('goes by a file that changes under load, from one request to the next', () => {
    const { before, after } = figures.hotUpdate;
    expect(Object.keys(before.statuses)).toEqual(['200', '429']);
    expect(before.refusedBy).toEqual({ 'server-qps': before.statuses[429] });
    expect(after).toEqual({ statuses: { 200: expect.any(Number) }, refusedBy: {} });
    // More than the limit before it let pass in a second.
    expect(after.statuses[200]).toBeGreaterThan(100);
  });

  it('keeps connections that are open when fewer are allowed, and lets others in when enough have closed', () => {
    expect(figures.tightening).toEqual({
      opened: 8,
      limit: 6,
      stayed: 8,
      attempts: [
        { open: 8, status: 429, refusedBy: 'server-connections' },
        { open: 6, status: 429, refusedBy: 'server-connections' },
        { open: 5, status: 200 },
      ],
    });
  });

  it('logs every change once, and warns of connections that are too many', () => {
    expect(figures.logged).toEqual([
      { severity: 'log', message: 'Limits of the server changed: maxQps 100 → 2000.' },
      { severity: 'log', message: 'Limits of the server changed: maxConnections 10000 → 6.' },
      {
        severity: 'warn',
        message: expect.stringMatching(/^The server has 2 connections more than it may have/),
      },
    ]);
  });

  it('holds the connection of a WebSocket until it closes', () => {
    expect(figures.webSocket).toEqual({
      echoes: ['Hello', 'Hi'],
      held: [2, 1, 0],
      third: [429, 101],
    });
  });

  it('tells what it does', () => {
    const lines = told.split('\n');
    expect(lines.filter((line) => /^\d\. /.test(line))).toHaveLength(4);
    expect(lines).toContain(
      '  client   api.localhost/events   20 × 200, 5 × 429 (client-connections)',
    );
    expect(lines).toContain('  one is closed, 1 connection is held; a third: 101');
  });

  it('leaves nothing behind, and its file as it was', () => {
    expect(figures.left).toEqual({ connections: 0, streams: 0 });
    expect(readdirSync(tmp)).toEqual([]);
    const tracked = readFileSync('sample/03-gateway/gateway.yml', 'utf8');
    expect(readFileSync(join(folder, 'gateway.yml'), 'utf8')).toBe(tracked);
  });
});

describe('the gateway that stays', () => {
  const tmp = temporary('tmp-served');
  let gateway: ChildProcess;
  let port: number;

  beforeAll(async () => {
    const env = { TMPDIR: tmp, PORT: '0' };
    gateway = spawn(process.execPath, [sample.main, '--serve'], { env });
    let told = '';
    gateway.stdout!.on('data', (chunk) => (told += String(chunk)));
    await until('it to be ready', () => told.includes('Stop it with'));
    port = Number(/localhost:(\d+)/.exec(told)![1]);
  }, 30_000);

  afterAll(() => void gateway.kill('SIGKILL'));

  async function ask(host: string, path: string) {
    const request = get({ host: '127.0.0.1', port, path, headers: { host }, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const { statusCode, headers } = response;
    return { statusCode, headers, body: await text(response) };
  }

  it('hands requests on to the service of their route, with the headers of the limits', async () => {
    const api = await ask('api.localhost', '/users?page=2');
    expect(api).toMatchObject({ statusCode: 200, body: 'api-service answers /users?page=2\n' });
    expect(api.headers['ratelimit-policy']).toContain('"client-qps";q=100;w=1');
    const chat = await ask('chat.localhost', '/');
    expect(chat).toMatchObject({ statusCode: 200, body: 'chat-service answers /\n' });
    // Neither its route nor its backend says anything of clients: the server does.
    expect(chat.headers['ratelimit-policy']).toContain('"client-qps";q=10;w=1');
    expect(await ask('other.localhost', '/')).toMatchObject({ statusCode: 404 });
  });

  it('ends when it is told to, and leaves nothing behind', async () => {
    const ended = once(gateway, 'exit');
    gateway.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(readdirSync(tmp)).toEqual([]);
  }, 20_000);
});
