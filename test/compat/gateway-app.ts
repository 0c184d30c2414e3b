// An application with a gateway and a microservice, and its own client: prints what was answered.
import 'reflect-metadata';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, Transport } from '@nestjs/microservices';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { lastValueFrom } from 'rxjs';
import { io } from 'socket.io-client';

@WebSocketGateway()
class ChatGateway {
  @RateLimit('sockets')
  handleConnection(): void {}

  @SubscribeMessage('say')
  @RateLimit('messages')
  say(): string {
    return 'said';
  }
}

@Controller()
class OrderController {
  @MessagePattern('order')
  @RateLimit({ plan: 'messages', key: 'all' })
  order(): string {
    return 'ordered';
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({
      plans: { sockets: { maxConcurrent: 1 }, messages: { limit: 10, windowMs: 3_600_000 } },
    }),
  ],
  controllers: [OrderController],
  providers: [ChatGateway],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
app.useWebSocketAdapter(new IoAdapter(app));
await app.listen(0, '127.0.0.1');
const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
const limiter = app.get(RateLimiter);
const left = async (key: string, plan: string) => (await limiter.peek(key, plan)).remainingTokens;

const connect = () =>
  io(`http://127.0.0.1:${port}`, {
    transports: ['websocket'],
    forceNew: true,
    reconnection: false,
  });
const first = connect();
const said: unknown = await first.emitWithAck('say', {});
const whileConnected = await left('ip:127.0.0.1', 'sockets');
const second = connect();
const [refusal] = (await once(second as never, 'exception')) as [{ plans: string[] }];
first.close();
while ((await left('ip:127.0.0.1', 'sockets')) === 0) await new Promise(setImmediate);

// As most applications connect it: without the global guards.
const options = { host: '127.0.0.1', port: await freePort() };
const service = app.connectMicroservice({ transport: Transport.TCP, options });
await service.listen();
const client = ClientProxyFactory.create({ transport: Transport.TCP, options });
const ordered = await lastValueFrom(client.send<string>('order', {}));

console.log(
  JSON.stringify({
    said,
    messagesLeft: await left('ip:127.0.0.1', 'messages'),
    whileConnected,
    refusedBy: refusal.plans,
    afterwards: await left('ip:127.0.0.1', 'sockets'),
    ordered,
    ordersLeft: await left('all', 'messages'),
  }),
);
client.close();
await app.close();

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
