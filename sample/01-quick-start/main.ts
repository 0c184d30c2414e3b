import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DashboardAppModule } from './dashboard.module.js';
import { ShopModule } from './shop.module.js';
import { Traffic } from './traffic.js';

const makesTraffic = process.argv.includes('--traffic');
const port = Number(process.env['PORT'] ?? 3000);
const url = `http://localhost:${port}`;
const app = await NestFactory.create(makesTraffic ? ShopModule : DashboardAppModule);
app.enableShutdownHooks();
await app.listen(port);
if (makesTraffic) app.get(Traffic).start(url);

console.log(`
The quick start listens on ${url}, five requests in ten seconds. Try:

  for i in 1 2 3 4 5 6; do curl -si ${url} | grep -iE '^(HTTP|RateLimit|Retry)'; done

Its dashboard is on ${url}/rate-limits${makesTraffic ? ', with traffic of its own' : ''}.
${makesTraffic ? '' : 'To see it move, start it with npm start -- --traffic\n'}
Stop it with Ctrl+C.
`);
