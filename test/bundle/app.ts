// A small application, to be bundled into one file and run far from any node_modules. It is in
// functions throughout, as CommonJS has no await at the top.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';

@Controller()
class HelloController {
  @Get()
  @RateLimit('2/minute')
  hello() {
    return 'Hello!';
  }
}

const limits = RateLimitModule.forRoot({
  redis: process.env['TEST_REDIS_URL']!,
  plans: { gold: { capacity: 5, tokensPerSecond: 0.001 } },
});

@Module({ imports: [limits], controllers: [HelloController] })
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, new ExpressAdapter(), { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  const { reason, remainingTokens } = await app.get(RateLimiter).allow('ada', 'gold', 2);
  const url = await app.getUrl();
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await fetch(url)).status);
  console.log(JSON.stringify({ reason, remainingTokens, statuses }));
  await app.close();
}

void main();
