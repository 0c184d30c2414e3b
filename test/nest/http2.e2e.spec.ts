import 'reflect-metadata';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { Controller, Get, Module, UnauthorizedException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { RequestOutcome } from '../../lib/index.js';
import { GatewayLimiter, RateLimit, RateLimitModule } from '../../lib/index.js';
import { until } from '../support/redis-servers.js';

const statuses: number[] = [];
let answer: () => void;
let asked: number;

const note = ({ statusCode }: RequestOutcome) => {
  statuses.push(statusCode);
  return false;
};

@Controller()
class LoginController {
  @Get('login')
  @RateLimit({ plan: '100/hour', refundOn: note })
  login(): never {
    throw new UnauthorizedException();
  }

  @Get('slow')
  @RateLimit({ plan: '100/hour', refundOn: note })
  async slow(): Promise<string> {
    asked++;
    await new Promise<void>((resolve) => (answer = resolve));
    return 'ok';
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ gateway: { server: { rateLimit: { maxConnections: 9 } } } })],
  controllers: [LoginController],
})
class AppModule {}

describe('a request by HTTP/2', () => {
  let app: INestApplication;
  let client: ClientHttp2Session;

  beforeEach(async () => {
    statuses.length = 0;
    asked = 0;
    app = await NestFactory.create(AppModule, new FastifyAdapter({ http2: true }), {
      logger: false,
    });
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
    client = connect(`http://127.0.0.1:${port}`);
  });

  afterEach(async () => {
    client.destroy();
    await app.close();
  });

  const get = (path: string): ClientHttp2Stream => client.request({ ':path': path }).resume();
  const open = async () => (await app.get(GatewayLimiter).current('server')).connections;

  it('has the outcome that was sent, and gives its connection back', async () => {
    get('/login');
    await until('it is over', () => Promise.resolve(statuses.length === 1));
    expect(statuses).toEqual([401]);
    await until('its connection is back', async () => (await open()) === 0);
  });

  it('that its client cancels has no outcome to be refunded by', async () => {
    const stream = get('/slow');
    await until('it is at its handler', () => Promise.resolve(asked === 1));
    expect(await open()).toBe(1);
    stream.close();
    await until('it is over', () => Promise.resolve(statuses.length === 1));
    answer();
    expect(statuses).toEqual([499]);
    await until('its connection is back', async () => (await open()) === 0);
  });
});
