import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { GatewayModuleOptions } from './gateway.module.js';
import { GatewayModule } from './gateway.module.js';
import type { Narrator } from './narrator.js';

/** Starts the gateway. */
export async function startApp(
  options: GatewayModuleOptions,
  port: number,
  logger: Narrator,
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(GatewayModule.forRoot(options), {
    logger,
    // What is handed on is not read here.
    bodyParser: false,
    forceCloseConnections: true,
  });
  // Who calls from this machine may say in whose name: behind another proxy, name that instead.
  app.set('trust proxy', 'loopback');
  await app.listen(port, '127.0.0.1');
  return app;
}
