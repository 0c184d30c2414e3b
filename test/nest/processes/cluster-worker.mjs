// Boots the module in a worker of node:cluster, and tells on standard output what it warns of.
import 'reflect-metadata';
import cluster from 'node:cluster';
import { NestFactory } from '@nestjs/core';

const { lib, options } = JSON.parse(process.argv[2]);

if (cluster.isPrimary) {
  cluster.fork();
} else {
  const { RateLimitModule } = await import(lib);
  const warnings = [];
  const quiet = () => {};
  const logger = { log: quiet, error: quiet, warn: (line) => warnings.push(line) };
  class AppModule {}
  const root = { module: AppModule, imports: [RateLimitModule.forRoot(options)] };
  const app = await NestFactory.createApplicationContext(root, { logger });
  await app.close();
  process.stdout.write(JSON.stringify(warnings));
  cluster.worker.disconnect();
}
