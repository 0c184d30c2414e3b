import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Exchange } from './http-app.js';

/** Numbers from 0 up to 1, the same for the same seed. */
export type Chance = () => number;

/** The generator called mulberry32. */
export function chanceFrom(seed: number): Chance {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Where clients go. */
export interface Paths {
  /** Answered after a while. */
  readonly short: readonly string[];
  /** Answered piece by piece, or never. */
  readonly long: readonly string[];
  readonly upgrade: string;
}

/** A client without manners: it leaves whenever it likes, or does not wait for its turn. */
export class RudeClient {
  /** How often each answer came; 0 where the client went before. */
  readonly statuses = new Map<number, number>();

  constructor(
    private readonly port: number,
    private readonly from: string,
    private readonly paths: Paths,
    private readonly chance: Chance,
  ) {}

  async visit(times: number): Promise<void> {
    const ways = [
      () => this.#read(),
      () => this.#leave(this.#oneOf(this.paths.short)),
      () => this.#leave(this.#oneOf(this.paths.long)),
      () => this.#upgrade(),
      () => this.#pipeline(),
    ];
    for (let i = 0; i < times; i++) await this.#oneOf(ways)();
  }

  /** Reads to the end. */
  async #read(): Promise<void> {
    const { from } = this;
    const { status } = await new Exchange(this.port, this.#oneOf(this.paths.short), {
      from,
    }).answer();
    this.#note(status);
  }

  /** Goes at some moment: before, while or after the response comes. */
  async #leave(path: string): Promise<void> {
    const exchange = new Exchange(this.port, path, { from: this.from });
    const status = exchange.status().catch(() => 0);
    await Promise.race([status.then(() => this.#soon()), this.#soon(40)]);
    exchange.abort();
    this.#note(await status);
  }

  /** Leaves HTTP for a while, and hangs up or says goodbye. */
  async #upgrade(): Promise<void> {
    const socket = this.#connect();
    const said = firstLineOf(socket);
    socket.write(`${head(this.paths.upgrade)}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`);
    if (this.chance() < 0.7) this.#note(Number((await said).slice(9, 12)));
    await this.#soon();
    await this.#end(socket);
  }

  /** Asks for three things at once, and may not wait for all of them. */
  async #pipeline(): Promise<void> {
    const socket = this.#connect();
    const said = firstLineOf(socket);
    const three = Array.from({ length: 3 }, () => `${head(this.#oneOf(this.paths.short))}\r\n`);
    socket.write(three.join(''));
    if (this.chance() < 0.5) await said;
    await this.#soon();
    await this.#end(socket);
  }

  #connect(): Socket {
    const socket = connect({ port: this.port, host: '127.0.0.1', localAddress: this.from });
    return socket.on('error', () => undefined);
  }

  async #end(socket: Socket): Promise<void> {
    const closed = new Promise<unknown>((resolve) => socket.once('close', resolve));
    if (socket.destroyed) return;
    socket.resume();
    if (this.chance() < 0.5) socket.destroy();
    else socket.end();
    await closed;
  }

  #soon(mostMs = 12): Promise<void> {
    return pause(Math.floor(this.chance() * mostMs));
  }

  #note(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  #oneOf<T>(these: readonly T[]): T {
    return these[Math.floor(this.chance() * these.length)]!;
  }
}

function head(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n`;
}

/** Empty when the connection ends before anything is said. */
function firstLineOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (data) => resolve(String(data).split('\r\n')[0]!));
    socket.once('close', () => resolve(''));
  });
}
