// An application with /metrics of @willsoto/nestjs-prometheus, as Node runs it. Prints what is scraped.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import willsoto from '@willsoto/nestjs-prometheus';

const [, , lib] = process.argv;
const { RateLimiter, RateLimitModule } = await import(lib);
const { RateLimitPrometheusModule } = await import(
  new URL('observe/prometheus/index.js', lib).href
);

const imports = [
  willsoto.PrometheusModule.register({ defaultMetrics: { enabled: false } }),
  RateLimitModule.forRoot({ plans: { gold: '2/day' } }),
  RateLimitPrometheusModule.forRoot(),
];
const app = await NestFactory.create({ module: class AppModule {}, imports }, { logger: false });
await app.listen(0, '127.0.0.1');
for (let i = 0; i < 3; i++) await app.get(RateLimiter).allow('ada', 'gold');
const response = await fetch(`${await app.getUrl()}/metrics`);
console.log(await response.text());
await app.close();
