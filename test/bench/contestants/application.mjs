// An application with our module, as a user has it.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule } from 'nestjs-floodgate';

/** The chain of two plans that others are compared with. */
export const TWO_PLANS = {
  gold: { capacity: 1_000_000, tokensPerSecond: 1_000 },
  daily: { capacity: 1_000_000, tokensPerSecond: 10 },
};

export function boot(options) {
  class AppModule {}
  // On a busy machine everybody is late at times; that is not what is measured here.
  Module({ imports: [RateLimitModule.forRoot({ deadlineMs: 5_000, ...options })] })(AppModule);
  return NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
}
