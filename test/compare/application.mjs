// Applications with one route, limited by ours or by @nestjs/throttler.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { floodgate, throttler } from './products.mjs';

/** Listens with a route that answers at once. */
async function listen({ imports, providers = [], decorate }) {
  class HelloController {
    hello() {
      return 'Hello!';
    }
  }
  const handler = Object.getOwnPropertyDescriptor(HelloController.prototype, 'hello');
  Get()(HelloController.prototype, 'hello', handler);
  decorate?.(HelloController.prototype, 'hello', handler);
  Controller()(HelloController);
  class AppModule {}
  Module({ imports, providers, controllers: [HelloController] })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  return { app, ask: async () => fetch(await app.getUrl()) };
}

export function floodgateApp(plans, plan) {
  const { RateLimit, RateLimitModule } = floodgate;
  return listen({ imports: [RateLimitModule.forRoot({ plans })], decorate: RateLimit(plan) });
}

export function throttlerApp(throttlers, decorate) {
  const { ThrottlerGuard, ThrottlerModule } = throttler;
  return listen({
    imports: [ThrottlerModule.forRoot({ throttlers })],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    decorate,
  });
}

/** Asks so many times, one after the other, and closes the application. */
export async function answersOf({ app, ask }, count) {
  const answers = [];
  for (let i = 0; i < count; i++) answers.push(await ask());
  await app.close();
  return answers;
}
