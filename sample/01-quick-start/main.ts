import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const port = Number(process.env['PORT'] ?? 3000);
const app = await NestFactory.create(AppModule);
app.enableShutdownHooks();
await app.listen(port);

console.log(`
The quick start listens on http://localhost:${port}, five requests in ten seconds. Try:

  for i in 1 2 3 4 5 6; do curl -si http://localhost:${port} | grep -iE '^(HTTP|RateLimit|Retry)'; done

Stop it with Ctrl+C.
`);
