import 'reflect-metadata';
import { request as httpRequest } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { Controller, Get, Sse } from '@nestjs/common';
import { NEVER } from 'rxjs';
import { GatewayLimiter, RateLimit, RateLimitModule } from '../../../lib/index.js';
import type { GatewayConfig } from '../../../lib/index.js';
import { adapters, closeApps, startApp } from '../../support/http-app.js';
import { until } from '../../support/redis-servers.js';

@Controller()
class ServiceController {
  @Get('hello')
  hello(): string {
    return 'hello';
  }

  @Sse('stream')
  stream() {
    return NEVER;
  }
}

const CONFIG: GatewayConfig = {
  server: { rateLimit: { maxConnections: 3 } },
  backends: [{ name: 'api' }],
  routes: [
    { id: 'api', host: '*', path: '/', backend: 'api', rateLimit: { maxQpsPerClient: 2 } },
    { id: 'stream', host: '*', path: '/stream', backend: 'api' },
  ],
};

afterEach(closeApps);

describe.each(adapters)('a gateway on %s', (adapter) => {
  async function start(gateway: GatewayConfig = CONFIG) {
    const imports = [RateLimitModule.forRoot({ gateway })];
    return startApp(adapter, { imports, controllers: [ServiceController] });
  }

  function portOf(app: INestApplication): number {
    return (app.getHttpServer() as { address(): AddressInfo }).address().port;
  }

  it('answers 429 with the level that said no, and the headers of the decorator', async () => {
    const http = await start();
    expect((await http.get('/hello')).status).toBe(200);
    expect((await http.get('/hello')).status).toBe(200);
    const denied = await http.get('/hello');
    expect(denied.status).toBe(429);
    expect(denied.json).toMatchObject({ statusCode: 429, plans: ['client-qps'] });
    expect(denied.headers['retry-after']).toMatch(/^[12]$/);
    expect(denied.headers['ratelimit-policy']).toContain('"client-qps";q=2;w=1');
    expect((await http.get('/hello', { from: '127.0.0.2' })).status).toBe(200);
  });

  it('tells its limits beside those of the application', async () => {
    @Controller()
    class LimitedController {
      @Get('limited')
      @RateLimit('2/hour')
      limited(): string {
        return 'ok';
      }
    }
    const gateway = { server: { rateLimit: { maxQps: 100, maxConnections: 50 } } };
    const imports = [RateLimitModule.forRoot({ gateway })];
    const http = await startApp(adapter, { imports, controllers: [LimitedController] });
    const { headers } = await http.get('/limited');
    expect(headers['ratelimit-policy']).toBe(
      '"server-qps";q=100;w=1, "server-connections";q=50;qu="concurrent-requests", ' +
        '"2/hour";q=2;w=3600',
    );
    expect(headers['ratelimit']).toBe(
      '"server-qps";r=99;t=2, "server-connections";r=49, "2/hour";r=1;t=1800',
    );
  });

  it('counts a client by its address, however that is written', async () => {
    const http = await start();
    const gateway = http.app.get(GatewayLimiter);
    await http.get('/hello');
    for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1']) {
      expect(await gateway.current('client', address, 'api')).toMatchObject({ qps: 1 });
    }
    const target = { routeId: 'api', clientIp: '::ffff:127.0.0.1' };
    expect((await gateway.tryAcquire(target)).allowed).toBe(true);
    expect((await http.get('/hello')).status).toBe(429);
  });

  it('refuses a path that servers read differently', async () => {
    const http = await start();
    expect((await http.get('/x/..%2Fstream')).status).toBe(400);
  });

  it('holds a connection until the response is finished or its client is gone', async () => {
    const { app } = await start();
    const gateway = app.get(GatewayLimiter);
    const port = portOf(app);
    const held = async () => (await gateway.current('server')).connections;
    const streams = Array.from({ length: 3 }, () =>
      httpRequest({ port, host: '127.0.0.1', path: '/stream', agent: false })
        .on('error', () => undefined)
        .end(),
    );
    await until('all to be held', async () => (await held()) === 3);
    expect((await gateway.enter({ clientIp: '192.0.2.1' })).denial).toMatchObject({
      level: 'server',
      resource: 'connections',
    });
    for (const stream of streams) stream.destroy();
    await until('all to be free', async () => (await held()) === 0);
  });

  it('holds a connection that leaves HTTP until it closes, and refuses one too many', async () => {
    const { app } = await start();
    const gateway = app.get(GatewayLimiter);
    const server = app.getHttpServer() as { on(event: string, listener: unknown): void };
    server.on('upgrade', (_request: unknown, socket: Socket) => {
      socket.on('end', () => socket.end()).resume();
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    });
    const upgrade = () =>
      new Promise<{ socket: Socket; status: string }>((resolve) => {
        const socket = connect(portOf(app), '127.0.0.1');
        socket.on('error', () => undefined);
        socket.write(
          'GET /stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
        );
        socket.once('data', (data) => resolve({ socket, status: String(data).slice(9, 12) }));
      });
    const open = [await upgrade(), await upgrade(), await upgrade()];
    expect(open.map(({ status }) => status)).toEqual(['101', '101', '101']);
    expect((await upgrade()).status).toBe('429');
    open[0]!.socket.destroy();
    await until('one to be free', async () => (await gateway.current('server')).connections === 2);
    const last = await upgrade();
    expect(last.status).toBe('101');
    for (const { socket } of [...open, last]) socket.destroy();
  });
});
