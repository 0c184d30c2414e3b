import type { EventEmitter } from 'node:events';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import type {
  CanActivate,
  INestApplicationContext,
  ModuleMetadata,
  PipeTransform,
  Type,
} from '@nestjs/common';
import { Controller, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Args, GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { ClientProxyFactory, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { RateLimit } from '../../lib/index.js';
import { connectSocketIo, connectWs } from './gateway-clients.js';
import type { GraphqlServer } from './graphql-app.js';
import { GRAPHQL_SERVERS } from './graphql-app.js';
import { LogLines, startApp } from './http-app.js';
import { freePort } from './redis-servers.js';

/** What the handlers of a stage do. */
export interface HandlerWork {
  work(): Promise<string>;
  fail(): Promise<never>;
  readonly guard: CanActivate;
  readonly pipe: PipeTransform;
}

/** The handlers of a stage. */
export type HandlerName = 'work' | 'fail' | 'guarded' | 'piped';

/** An application that is reached by messages. */
export interface MessageApp {
  readonly context: INestApplicationContext;
  readonly logs: LogLines;
  /** What warnings call its class. */
  readonly className: string;
  /** Sends a message to a handler. */
  send(handler: HandlerName): Promise<Sent>;
  close(): Promise<void>;
}

/** A message on its way. */
export interface Sent {
  /** Goes; resolves when the server has noticed. */
  leave(): Promise<void>;
}

/** Where the decorator that limits the handlers stands. */
export type DecoratedPlace = 'the method' | 'the class' | 'a base class';

/** A way for messages to come. */
export interface MessageStage {
  readonly name: string;
  start(work: HandlerWork, metadata: ModuleMetadata, place?: DecoratedPlace): Promise<MessageApp>;
}

const limit = RateLimit({ plan: 'slot', key: 'all', phase: 'interceptor' });

/** What a class is made from. */
interface ClassParts {
  readonly work: HandlerWork;
  readonly place: DecoratedPlace;
  readonly handler: (name: HandlerName) => MethodDecorator;
  readonly body: (pipe: PipeTransform) => ParameterDecorator;
}

/** A class with every handler, found by these decorators. */
function classWith({ work, place, handler, body }: ClassParts): Type {
  const slot: MethodDecorator = place === 'the method' ? limit : () => undefined;

  class Base {}
  if (place === 'a base class') limit(Base);

  class MessageHandlers extends Base {
    @handler('work')
    @slot
    work(): Promise<string> {
      return work.work();
    }

    @handler('fail')
    @slot
    fail(): Promise<string> {
      return work.fail();
    }

    @handler('guarded')
    @UseGuards(work.guard)
    @slot
    guarded(): Promise<string> {
      return work.work();
    }

    @handler('piped')
    @slot
    piped(@body(work.pipe) _data: string): Promise<string> {
      return work.work();
    }
  }
  if (place === 'the class') limit(MessageHandlers);
  return MessageHandlers;
}

function socketStage(
  name: string,
  Adapter: typeof IoAdapter | typeof WsAdapter,
  connect: typeof connectWs,
): MessageStage {
  return {
    name,
    async start(work, metadata, place = 'the method') {
      const body = (pipe: PipeTransform) => MessageBody(pipe);
      const Handlers = classWith({ work, place, handler: SubscribeMessage, body });
      const gone: (() => void)[] = [];
      class Gateway extends Handlers {
        handleDisconnect(): void {
          gone.shift()?.();
        }
      }
      WebSocketGateway()(Gateway);
      const { app, logs } = await startApp(
        'express',
        { ...metadata, providers: [Gateway] },
        { configure: (one) => one.useWebSocketAdapter(new Adapter(one)) },
      );
      const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
      const send = async (handler: HandlerName): Promise<Sent> => {
        const client = await connect(port);
        const left = new Promise<void>((resolve) => gone.push(resolve));
        client.send(handler, 'x');
        const leave = () => {
          client.close();
          return left;
        };
        return { leave };
      };
      return { context: app, logs, className: 'Gateway', send, close: () => app.close() };
    },
  };
}

function graphqlStage({ name, adapter, driver, options }: GraphqlServer): MessageStage {
  return {
    name,
    async start(work, metadata, place = 'the method') {
      const handler = (field: HandlerName) => Query(() => String, { name: field, nullable: true });
      const body = (pipe: PipeTransform) =>
        Args('data', { type: () => String, nullable: true }, pipe);
      const Handlers = classWith({ work, place, handler, body });
      Resolver()(Handlers);
      const graphql = GraphQLModule.forRoot({ driver, autoSchemaFile: true, ...options });
      const imports = [...(metadata.imports ?? []), graphql];
      const { app, logs } = await startApp(adapter, { imports, providers: [Handlers] });
      const server = app.getHttpServer() as EventEmitter & Server;
      const { port } = server.address() as AddressInfo;
      const send = (handler: HandlerName): Promise<Sent> => {
        const over = once(server, 'request').then(([, response]) =>
          once(response as ServerResponse, 'close'),
        );
        const leaving = new AbortController();
        fetch(`http://127.0.0.1:${port}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ query: `{ ${handler} }` }),
          signal: leaving.signal,
        }).catch(() => undefined);
        const leave = async () => {
          leaving.abort();
          await over;
        };
        return Promise.resolve({ leave });
      };
      return { context: app, logs, className: 'MessageHandlers', send, close: () => app.close() };
    },
  };
}

const TCP: MessageStage = {
  name: 'TCP',
  async start(work, metadata, place = 'the method') {
    const body = (pipe: PipeTransform) => Payload(pipe);
    const Handlers = classWith({ work, place, handler: MessagePattern, body });
    Controller()(Handlers);
    class ServiceModule {}
    Module({ ...metadata, controllers: [Handlers] })(ServiceModule);
    const logs = new LogLines();
    const options: MicroserviceOptions = {
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port: await freePort() },
    };
    const service = await NestFactory.createMicroservice<MicroserviceOptions>(ServiceModule, {
      ...options,
      logger: logs,
      abortOnError: false,
    });
    await service.listen();
    const server = service.unwrap<Server>();
    const send = async (handler: HandlerName): Promise<Sent> => {
      const gone = once(server, 'connection').then(([socket]) =>
        once(socket as EventEmitter, 'close'),
      );
      const client = ClientProxyFactory.create(options as object);
      await client.connect();
      client.send(handler, 'x').subscribe({ error: () => undefined });
      const leave = async () => {
        await client.close();
        await gone;
      };
      return { leave };
    };
    return {
      context: service,
      logs,
      className: 'MessageHandlers',
      send,
      close: () => service.close(),
    };
  },
};

/** Every way for messages to come. */
export const MESSAGE_STAGES: readonly MessageStage[] = [
  socketStage('socket.io', IoAdapter, connectSocketIo),
  socketStage('ws', WsAdapter, connectWs),
  ...GRAPHQL_SERVERS.map(graphqlStage),
  TCP,
];
