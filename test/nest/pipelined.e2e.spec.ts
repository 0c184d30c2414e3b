import 'reflect-metadata';
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimiter, RateLimitModule } from '../../lib/index.js';
import { adapters, startApp } from '../support/http-app.js';

describe.each(adapters)('a slot on %s', (adapter) => {
  it('comes back when the client goes while its response waits behind another', async () => {
    let goOn!: () => void;
    const waiting = new Promise<void>((resolve) => (goOn = resolve));

    @Controller()
    class PipelinedController {
      @Get('slow')
      async slow(): Promise<string> {
        await waiting;
        return 'slow';
      }

      @Get('slot')
      @RateLimit({ plan: 'slot', key: 'all' })
      slot(): string {
        return 'slot';
      }
    }
    const app = await startApp(adapter, {
      imports: [RateLimitModule.forRoot({ plans: { slot: { maxConcurrent: 1 } } })],
      controllers: [PipelinedController],
    });
    const limiter = app.provider(RateLimiter);
    const free = async () => (await limiter.peek('all', 'slot')).remainingTokens;
    const { port } = (app.app.getHttpServer() as { address(): AddressInfo }).address();
    const socket = connect(port, '127.0.0.1');
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    socket.write(get('/slow') + get('/slot'));
    while ((await free()) === 1) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    while ((await free()) === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await free()).toBe(1);
    goOn();
    await app.app.close();
  });

  it('adds no listener to a socket that has one, however many requests come at once', async () => {
    const waiting: (() => void)[] = [];

    @Controller()
    class CrowdController {
      @Get()
      @RateLimit({ plan: 'crowd', key: 'all' })
      async wait(): Promise<void> {
        await new Promise<void>((resolve) => void waiting.push(resolve));
      }
    }
    const app = await startApp(adapter, {
      imports: [RateLimitModule.forRoot({ plans: { crowd: { maxConcurrent: 20 } } })],
      controllers: [CrowdController],
    });
    const server = app.app.getHttpServer() as Server;
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const listeners: number[] = [];
    for (const crowd of [1, 15]) {
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(crowd));
      while (waiting.length < crowd) await new Promise((resolve) => setImmediate(resolve));
      listeners.push((await accepted)[0].listenerCount('close'));
    }
    socket.destroy();
    for (const goOn of waiting) goOn();
    await app.app.close();
    expect(listeners[1]).toBe(listeners[0]);
  });
});
