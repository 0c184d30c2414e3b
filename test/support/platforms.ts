import type { EventEmitter } from 'node:events';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { Module } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { LogLines } from './http-app.js';

/** A request on its way. */
export interface Call {
  /** The status, once the head of the response has come. */
  readonly status: Promise<number>;
  /** The whole text of the response. */
  readonly text: Promise<string>;
  /** Goes without waiting for the answer. */
  leave(): void;
}

/** A platform of Nest and the version of HTTP that it is asked by. Express knows no HTTP/2. */
export interface Platform {
  readonly name: string;
  adapter(): AbstractHttpAdapter;
  call(port: number, path: string): Call;
}

export const PLATFORMS: readonly Platform[] = [
  { name: 'Express', adapter: () => new ExpressAdapter(), call: callByHttp1 },
  {
    name: 'Fastify',
    adapter: () => new FastifyAdapter({ forceCloseConnections: true }),
    call: callByHttp1,
  },
  {
    name: 'Fastify by HTTP/2',
    adapter: () => new FastifyAdapter({ http2: true }),
    call: callByHttp2,
  },
];

/** An application on a platform. */
export class PlatformApp {
  constructor(
    private readonly platform: Platform,
    readonly app: INestApplication,
    readonly logs: LogLines,
  ) {}

  call(path: string): Call {
    return this.platform.call(this.#port, path);
  }

  /** Resolves when the server has noticed that the next request to come is over. */
  nextOver(): Promise<unknown> {
    const server = this.app.getHttpServer() as EventEmitter;
    return once(server, 'request').then(([, response]) =>
      once(response as ServerResponse, 'close'),
    );
  }

  get #port(): number {
    return (this.app.getHttpServer() as { address(): AddressInfo }).address().port;
  }
}

/** Starts an application on a free port. Close its `app`. */
export async function startOn(platform: Platform, metadata: ModuleMetadata): Promise<PlatformApp> {
  class AppModule {}
  Module(metadata)(AppModule);
  const logs = new LogLines();
  const options = { logger: logs, abortOnError: false, forceCloseConnections: true };
  const app = await NestFactory.create(AppModule, platform.adapter(), options);
  await app.listen(0, '127.0.0.1');
  return new PlatformApp(platform, app, logs);
}

function callByHttp1(port: number, path: string): Call {
  const asked = request({ host: '127.0.0.1', port, path, agent: false }).end();
  const answered = once(asked, 'response').then(([response]) => response as IncomingMessage);
  return callOf(
    answered.then(({ statusCode }) => statusCode!),
    answered.then(readAll),
    () => void asked.on('error', () => undefined).destroy(),
  );
}

function callByHttp2(port: number, path: string): Call {
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ':path': path });
  stream.once('close', () => session.close());
  return callOf(
    once(stream, 'response').then(([headers]) => (headers as { ':status': number })[':status']),
    readAll(stream),
    () => stream.close(),
  );
}

function callOf(status: Promise<number>, text: Promise<string>, leave: () => void): Call {
  // Who leaves does not wait for the answer.
  status.catch(() => undefined);
  text.catch(() => undefined);
  return { status, text, leave };
}

async function readAll(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}
