import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
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
});
