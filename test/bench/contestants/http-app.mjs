// A bare Nest route on Fastify, in the ways that the benchmark compares.
import 'reflect-metadata';
import { Controller, Get, Module, UseInterceptors } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { peer } from '../peers/peer.mjs';

const [, , mode] = process.argv;
const CHAIN = ['gold', 'daily'];

class NothingInterceptor {
  intercept(_context, next) {
    return next.handle();
  }
}

const floodgate = () =>
  RateLimitModule.forRoot({
    plans: {
      gold: { capacity: 1_000_000, tokensPerSecond: 1_000_000 },
      daily: { capacity: 1_000_000_000, tokensPerSecond: 100_000 },
    },
  });

async function throttler() {
  const { ThrottlerGuard, ThrottlerModule } = await peer('@nestjs/throttler');
  const throttlers = [
    { name: 'gold', ttl: 60_000, limit: 1_000_000_000 },
    { name: 'daily', ttl: 86_400_000, limit: 1_000_000_000 },
  ];
  return {
    imports: [ThrottlerModule.forRoot({ throttlers })],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  };
}

const modes = {
  bare: () => ({}),
  'floodgate by address': () => ({
    imports: [floodgate()],
    decorate: RateLimit({ plan: CHAIN, key: 'ip' }),
  }),
  'empty interceptor': () => ({ decorate: UseInterceptors(NothingInterceptor) }),
  'floodgate in the interceptor': () => ({
    imports: [floodgate()],
    decorate: RateLimit({ plan: CHAIN, key: 'ip', phase: 'interceptor' }),
  }),
  throttler,
};

const { imports = [], providers = [], decorate } = await modes[mode]();

class BareController {
  answer() {
    return { ok: true };
  }
}
const handler = Object.getOwnPropertyDescriptor(BareController.prototype, 'answer');
Get('/')(BareController.prototype, 'answer', handler);
decorate?.(BareController.prototype, 'answer', handler);
Controller()(BareController);
class AppModule {}
Module({ imports, providers, controllers: [BareController] })(AppModule);

const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error'] });
await app.listen(0, '127.0.0.1');
process.send({ ready: true, port: app.getHttpServer().address().port });
