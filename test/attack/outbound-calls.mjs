// Calls a site as it is told, in a process of its own with `--expose-gc`, and says what came of it.
import 'reflect-metadata';
import { clearInterval, setInterval } from 'node:timers';
import { NestFactory } from '@nestjs/core';

const { lib, outbound, url, calls, drops } = JSON.parse(process.argv[2]);
const { OutboundLimiter, RateLimitModule } = await import(lib);

class AppModule {}
const root = { module: AppModule, imports: [RateLimitModule.forRoot({ outbound })] };
const app = await NestFactory.createApplicationContext(root, { logger: false });
const limiter = app.get(OutboundLimiter);

const told = { calls: 0, failures: {} };
async function call() {
  try {
    const response = await limiter.fetch(url, { timeoutMs: 10_000 });
    if (!drops) await response.text();
    told.calls++;
  } catch ({ code, message }) {
    const why = code ?? message;
    told.failures[why] = (told.failures[why] ?? 0) + 1;
  }
}

const collecting = drops && setInterval(globalThis.gc, 20);
await Promise.all(Array.from({ length: calls }, call));
clearInterval(collecting);
await app.close();
process.send(told);
process.disconnect();
