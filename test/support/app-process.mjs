// An application in a process of its own: boots the module, and calls the limiter as it is told by
// messages. Started by `startApp` of app-processes.mjs.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';

const { lib, options } = JSON.parse(process.argv[2]);
const { RateLimitModule, RateLimiter } = await import(lib);

class AppModule {}
const root = { module: AppModule, imports: [RateLimitModule.forRoot(options)] };
const app = await NestFactory.createApplicationContext(root, { logger: false });
const limiter = app.get(RateLimiter);
/** Leases that are held, by the number of the call that took them. */
const leases = new Map();

const actions = {
  async acquire(id, args) {
    const lease = await limiter.acquire(...args);
    leases.set(id, lease);
    return { id, ...lease.toJSON(), held: lease.held !== undefined };
  },
  release: (_, [id]) => leases.get(id).release(),
  renew: (_, [id]) => leases.get(id).renew(),
  isHeld: (_, [id]) => leases.get(id).held !== undefined,
  async close() {
    await app.close();
    // A server that does not take part in closing a connection holds it up for a moment.
    await new Promise((resolve) => setTimeout(resolve, 300));
    return process.getActiveResourcesInfo();
  },
};

process.on('message', async ({ id, method, args }) => {
  try {
    const answer = await (actions[method]?.(id, args) ?? limiter[method](...args));
    process.send({ id, answer });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ id: 0, answer: 'ready' });
