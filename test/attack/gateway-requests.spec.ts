import 'reflect-metadata';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { All, Controller } from '@nestjs/common';
import type { LevelLimits } from '../../lib/index.js';
import { GatewayLimiter, RateLimitModule } from '../../lib/index.js';
import type { HttpApp } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

jest.setTimeout(30_000);

let runs = 0;

@Controller()
class LoginController {
  @All('login')
  login(): string {
    runs++;
    return 'in';
  }
}

afterEach(closeApps);

describe.each(adapters)('requests in odd forms on %s', (adapter) => {
  async function start(rateLimit: LevelLimits): Promise<HttpApp> {
    const gateway = {
      backends: [{ name: 'app' }],
      routes: [
        { host: 'api.example.com', path: '/login', backend: 'app', rateLimit },
        { id: 'any', host: '*', backend: 'app' },
      ],
    };
    runs = 0;
    const imports = [RateLimitModule.forRoot({ gateway })];
    return startApp(adapter, { imports, controllers: [LoginController] });
  }

  const portOf = ({ app }: HttpApp) =>
    (app.getHttpServer() as { address(): AddressInfo }).address().port;

  /** All that the server says until it closes; what it never closes is closed by the client. */
  async function say(http: HttpApp, text: string): Promise<string> {
    const socket: Socket = connect(portOf(http), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(text);
    let heard = '';
    for await (const data of socket) heard += String(data);
    return heard;
  }

  const statusesIn = (heard: string) =>
    [...heard.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

  const request = (line: string, host: string, more = '') =>
    `${line} HTTP/1.1\r\n${host}\r\nConnection: close\r\n${more}\r\n`;

  it.each([
    'Host: api.example.com',
    'Host: API.Example.COM',
    'hOST: api.example.com:8443',
    'Host: api.example.com.',
    'Host: api.example.com.:80',
    'Host:\tapi.example.com \t',
  ])('named %j belong to the route of the host', async (host) => {
    const http = await start({ maxQps: 0 });
    expect(statusesIn(await say(http, request('GET /login', host)))).toEqual([429]);
    expect(runs).toBe(0);
  });

  it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'get', 'GeT'])(
    'of method %s are counted, or not understood',
    async (method) => {
      const http = await start({ maxQps: 0 });
      const heard = await say(http, request(`${method} /login`, 'Host: api.example.com'));
      expect(statusesIn(heard)).not.toContain(200);
      expect(runs).toBe(0);
    },
  );

  it('that name no host belong to routes of any host', async () => {
    const http = await start({ maxQps: 0 });
    await http.app.get(GatewayLimiter).updateRoute('any', { maxQps: 0 });
    expect(statusesIn(await say(http, 'GET /login HTTP/1.0\r\n\r\n'))).toEqual([429]);
    const named = 'GET /login HTTP/1.0\r\nHost: api.example.com\r\n\r\n';
    expect(statusesIn(await say(http, named))).toEqual([429]);
    expect(statusesIn(await say(http, 'GET /login HTTP/1.1\r\n\r\n'))).toEqual([400]);
    expect(runs).toBe(0);
  });

  it('that come all at once on one socket are counted one by one', async () => {
    const http = await start({ maxConnections: 0 });
    const one = 'GET /login HTTP/1.1\r\nHost: api.example.com\r\n\r\n';
    const last = request('GET /LOGIN', 'Host: api.example.com');
    expect(statusesIn(await say(http, one.repeat(20) + last)).slice(0, 20)).toEqual(
      Array.from({ length: 20 }, () => 429),
    );
    expect(runs).toBe(0);
  });

  it.each(['/login', '//login', '/%6Cogin', '/x/../login', 'http://a/login', '/login?x'])(
    'for an upgrade at %s are refused as the route says',
    async (path) => {
      const http = await start({ maxQps: 0 });
      const server = http.app.getHttpServer() as { on(event: string, listener: unknown): void };
      let upgrades = 0;
      server.on('upgrade', (_: unknown, socket: Socket) => {
        upgrades++;
        socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      });
      const head = `GET ${path} HTTP/1.1\r\nHost: api.example.com\r\n`;
      const heard = await say(http, `${head}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`);
      expect(statusesIn(heard)).toEqual([429]);
      expect(upgrades).toBe(0);
    },
  );
});
