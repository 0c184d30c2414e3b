// Says where it listens, and ends by itself once it is told to: whatever would keep the process
// alive after `close()` shows.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  process.once('SIGTERM', () => void app.close());
  await app.listen(0, '127.0.0.1');
  console.log(await app.getUrl());
}

void main();
