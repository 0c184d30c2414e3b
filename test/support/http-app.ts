import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import type { INestApplication, LoggerService, ModuleMetadata, Type } from '@nestjs/common';
import { Module } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { TestingModuleBuilder } from '@nestjs/testing';
import { Test } from '@nestjs/testing';

export const adapters = ['express', 'fastify'] as const;
export type Adapter = (typeof adapters)[number];

/** What a request may say. */
export interface RequestOptions {
  readonly method?: string;
  /** The client's address: any of 127.0.0.0/8. */
  readonly from?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is. */
  readonly body?: string;
}

/** A response that was read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as an object; undefined when it is not JSON. */
  readonly json: unknown;
}

/** How to start. */
export interface StartOptions {
  /** Called before the application listens. */
  readonly configure?: (app: INestApplication) => void;
  /** Replaces parts of the application as the tests of a user would. */
  readonly override?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
  /** Which proxies are believed, as the platform is told; true believes all of them. */
  readonly trustProxy?: unknown;
}

/** Collects what an application logs. */
export class LogLines implements LoggerService {
  readonly debugs: string[] = [];
  readonly infos: string[] = [];
  readonly warnings: string[] = [];
  readonly errors: string[] = [];

  debug(message: unknown): void {
    this.debugs.push(String(message));
  }

  log(message: unknown): void {
    this.infos.push(String(message));
  }

  warn(message: unknown): void {
    this.warnings.push(String(message));
  }

  error(message: unknown): void {
    this.errors.push(String(message));
  }
}

/** A request on its way, of which the response may still be coming. */
export class Exchange {
  readonly #request: ClientRequest;
  readonly #response: Promise<IncomingMessage>;

  constructor(port: number, path: string, { method, from, headers, body }: RequestOptions = {}) {
    this.#request = httpRequest({
      host: '127.0.0.1',
      port,
      path,
      method: method ?? 'GET',
      localAddress: from ?? '127.0.0.1',
      headers: { ...headers },
      agent: false,
    });
    this.#response = new Promise((resolve, reject) => {
      this.#request.once('response', resolve);
      // After the response is there, its own stream reports what goes wrong.
      this.#request.on('error', reject);
    });
    // Whoever aborts does not wait for the answer.
    this.#response.catch(() => {});
    this.#request.end(body);
  }

  /** The status, once the head of the response has come. */
  async status(): Promise<number> {
    return (await this.#response).statusCode!;
  }

  /** Reads on until the text has come. */
  async reads(text: string): Promise<void> {
    const response = await this.#response;
    await new Promise<void>((resolve, reject) => {
      let read = '';
      const listen = (data: Buffer) => {
        read += data.toString();
        if (!read.includes(text)) return;
        response.pause();
        response.off('data', listen).off('close', fail);
        resolve();
      };
      const fail = () => reject(new Error(`The response ended before ${text} had come.`));
      response.on('data', listen).once('close', fail);
    });
  }

  /** The whole response. */
  async answer(): Promise<Answer> {
    const response = await this.#response;
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    return { status: response.statusCode!, headers: response.headers, text, json: parsed(text) };
  }

  /** Hangs up. */
  abort(): void {
    this.#response.then((response) => response.on('error', () => {})).catch(() => {});
    this.#request.destroy();
  }
}

/** An application that listens. */
export class HttpApp {
  constructor(
    readonly app: INestApplication,
    readonly logs: LogLines,
  ) {}

  /** Sends a request and reads the response to its end. */
  get(path: string, options?: RequestOptions): Promise<Answer> {
    return this.open(path, options).answer();
  }

  /** Sends a request and reads nothing yet. */
  open(path: string, options?: RequestOptions): Exchange {
    const { port } = (this.app.getHttpServer() as { address(): AddressInfo }).address();
    return new Exchange(port, path, options);
  }

  /** Sends requests one after another and tells their statuses. */
  async statuses(count: number, path: string, options?: RequestOptions): Promise<number[]> {
    const statuses: number[] = [];
    for (let i = 0; i < count; i++) statuses.push((await this.get(path, options)).status);
    return statuses;
  }

  /** A provider, from whatever module it is in. */
  provider<T>(token: abstract new (...args: never[]) => T): T {
    return this.app.get<T>(token, { strict: false });
  }
}

const running: INestApplication[] = [];

/** Boots an application without listening. Mistakes are thrown. */
export async function bootApp(
  adapter: Adapter,
  metadata: ModuleMetadata,
  { configure, override, trustProxy = false }: StartOptions = {},
): Promise<HttpApp> {
  const logs = new LogLines();
  const server = createAdapter(adapter, trustProxy);
  const app = override
    ? await createTestApp(override(Test.createTestingModule(metadata)), server, logs)
    : await NestFactory.create(rootModule(metadata), server, {
        logger: logs,
        abortOnError: false,
        forceCloseConnections: true,
      });
  running.push(app);
  configure?.(app);
  await app.init();
  return new HttpApp(app, logs);
}

/** Starts an application on a free port of the loopback address. */
export async function startApp(
  adapter: Adapter,
  metadata: ModuleMetadata,
  options: StartOptions = {},
): Promise<HttpApp> {
  const app = await bootApp(adapter, metadata, options);
  await app.app.listen(0, '127.0.0.1');
  return app;
}

/** Lets `setInterval` stand still until it is told to move, while everything else goes on. */
export function fakeIntervals(): void {
  jest.useFakeTimers({
    doNotFake: [
      'Date',
      'hrtime',
      'nextTick',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
      'setTimeout',
      'clearTimeout',
    ],
  });
}

/** Closes whatever was started. For `afterEach`. */
export async function closeApps(): Promise<void> {
  await Promise.all(running.splice(0).map((app) => app.close()));
}

function createAdapter(adapter: Adapter, trustProxy: unknown): AbstractHttpAdapter {
  if (adapter === 'fastify') {
    const trusted = trustProxy as boolean;
    return new FastifyAdapter({ trustProxy: trusted, forceCloseConnections: true });
  }
  const express = new ExpressAdapter();
  express.set('trust proxy', trustProxy);
  return express;
}

async function createTestApp(
  builder: TestingModuleBuilder,
  server: AbstractHttpAdapter,
  logs: LogLines,
): Promise<INestApplication> {
  const module = await builder.setLogger(logs).compile();
  return module.createNestApplication(server, { forceCloseConnections: true });
}

function rootModule(metadata: ModuleMetadata): Type {
  class AppModule {}
  Module(metadata)(AppModule);
  return AppModule;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
