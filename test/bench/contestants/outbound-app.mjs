// An application whose limits never make anybody wait.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { OutboundLimiter, RateLimiter, RateLimitModule } from 'nestjs-floodgate';

const PLENTY = 1_000_000;

export async function outboundApp() {
  class AppModule {}
  const plans = { one: { capacity: PLENTY, tokensPerSecond: PLENTY } };
  const outbound = {
    default: { requestsPerSecond: PLENTY, burstCapacity: PLENTY },
    maxDomains: 100_000,
  };
  Module({ imports: [RateLimitModule.forRoot({ plans, outbound })] })(AppModule);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  return { limiter: app.get(RateLimiter), outbound: app.get(OutboundLimiter) };
}
