// An application in a process of its own, whose plans and outbound rules are changed while it runs.
// Calls what it is told by messages: a provider, a method, arguments. Started by shared-changes.spec.ts.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';

const { lib, options } = JSON.parse(process.argv[2]);
const { OutboundLimiter, RateLimiter, RateLimitModule, SharedPlans, SharedRules } = await import(
  lib
);

const root = { module: class AppModule {}, imports: [RateLimitModule.forRoot(options)] };
const app = await NestFactory.createApplicationContext(root, { logger: false });
const providers = {
  limiter: app.get(RateLimiter),
  outbound: app.get(OutboundLimiter),
  plans: app.get(SharedPlans),
  rules: app.get(SharedRules),
};

process.on('message', async ({ id, method, args }) => {
  try {
    const [provider, name] = method.split('.');
    const answer = await providers[provider][name](...args);
    process.send({ id, answer: JSON.parse(JSON.stringify(answer ?? null)) });
  } catch (error) {
    process.send({ id, error: `${error.code}: ${error.message}` });
  }
});
process.on('disconnect', () => process.exit());
process.send({ id: 0, answer: 'ready' });
