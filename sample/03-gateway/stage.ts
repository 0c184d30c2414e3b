import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Level } from 'nestjs-floodgate';
import { GatewayLimiter } from 'nestjs-floodgate';
import { startApp } from './app.js';
import { ChatService } from './chat-service.js';
import { LimitsFile } from './limits-file.js';
import type { Narrator } from './narrator.js';
import { Service } from './service.js';
import { until } from './until.js';
import { Visitors } from './visitors.js';

/** Longest that a change of the file may take to be noticed. */
const NOTICE_MS = 10_000;

/** The gateway, the services behind it, and the clients before it. */
export class Stage {
  readonly api = new Service('api-service');
  readonly chat = new ChatService('chat-service');
  readonly file = new LimitsFile();
  #app: NestExpressApplication | undefined;
  #visitors: Visitors | undefined;

  constructor(readonly narrator: Narrator) {}

  async start(port: number): Promise<void> {
    const addresses = {
      [this.api.name]: await this.api.start(),
      [this.chat.name]: await this.chat.start(),
    };
    const { path: file } = this.file;
    this.#app = await startApp({ file, addresses }, port, this.narrator);
    this.#visitors = new Visitors(this.port);
  }

  get port(): number {
    return (this.app.getHttpServer().address() as AddressInfo).port;
  }

  get app(): NestExpressApplication {
    return this.#app!;
  }

  get visitors(): Visitors {
    return this.#visitors!;
  }

  get limiter(): GatewayLimiter {
    return this.app.get(GatewayLimiter);
  }

  /** Connections of a level, as the gateway counts them. */
  async connections(level: Level, id?: string): Promise<number> {
    return (await this.limiter.current(level, id)).connections ?? 0;
  }

  async untilConnections(count: number, level: Level, id?: string): Promise<void> {
    const isSo = async () => (await this.connections(level, id)) === count;
    await until(`${count} connections of the ${level}`, isSo);
  }

  /** Writes another limit to the file, and waits until the gateway goes by it. */
  async change(where: readonly (string | number)[], value: number): Promise<void> {
    const signal = AbortSignal.timeout(NOTICE_MS);
    const changed = once(this.limiter.events, 'change', { signal });
    this.file.set(where, value);
    await changed;
  }

  /** Closes what was opened, however far it came. */
  async close(): Promise<void> {
    this.#visitors?.close();
    await this.#app?.close();
    this.api.stop();
    this.chat.stop();
    this.file.remove();
  }
}
