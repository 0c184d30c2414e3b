import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';

/** What is made of the next bytes that the server answers; undefined cuts the connection instead. */
export type Rewrite = (reply: Buffer) => Buffer | undefined;

/** The two ends of one connection. */
interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** Forwards nothing, and does not tell. */
  dead: boolean;
  /** Answers on their way, and when the last of them arrives. */
  readonly underWay: Buffer[];
  dueMs: number;
}

/** Stands between a client and a server, and does what networks do. */
export class TcpProxy {
  /** How long answers take on their way. */
  delayMs = 0;
  /** Connections that were made so far. */
  connections = 0;
  readonly #links = new Set<Link>();
  readonly #listener: Server;
  #rewrite: Rewrite | undefined;
  #held: { link: Link; bytes: Buffer[] } | undefined;
  #silent = false;

  private constructor(private target: number) {
    // A connection that one side has ended is not ended by us on the other.
    this.#listener = createServer({ allowHalfOpen: true }, (client) => this.#join(client));
  }

  /** Listens for a server on loopback. */
  static async to({ port }: { readonly port: number }): Promise<TcpProxy> {
    const proxy = new TcpProxy(port);
    await new Promise<void>((resolve) => proxy.#listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Leads new connections to another server, and cuts the old ones. */
  leadTo({ port }: { readonly port: number }): void {
    this.target = port;
    this.cut();
  }

  /** Ends every connection at once. */
  cut(): void {
    for (const { client, server } of this.#links) {
      client.destroy();
      server.destroy();
    }
  }

  /** Changes the next answer. */
  rewriteNext(rewrite: Rewrite): void {
    this.#rewrite = rewrite;
  }

  /** Keeps answers back until they are let go. */
  hold(): void {
    const [link] = [...this.#links].slice(-1);
    if (!link) throw new Error('There is no connection to hold.');
    this.#held = { link, bytes: [] };
  }

  /** What is kept back. */
  get heldText(): string {
    return Buffer.concat(this.#held?.bytes ?? []).toString('latin1');
  }

  /** Lets go of what was kept back, in one piece and changed. */
  letGo(rewrite: (replies: Buffer) => Buffer): void {
    const { link, bytes } = this.#held!;
    this.#held = undefined;
    link.client.write(rewrite(Buffer.concat(bytes)));
  }

  /** From now on nothing goes through the connections that there are, and nobody is told. */
  loseConnections(): void {
    for (const link of this.#links) kill(link);
  }

  /** Nothing goes through any connection, old or new, until it is over. */
  fallSilent(): void {
    this.#silent = true;
    this.loseConnections();
  }

  speakAgain(): void {
    this.#silent = false;
    this.cut();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #join(client: Socket): void {
    this.connections++;
    const server = connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true });
    const link: Link = { client, server, dead: false, underWay: [], dueMs: 0 };
    this.#links.add(link);
    client.setNoDelay(true);
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => this.#answer(link, bytes));
    this.#tie(link, client, server);
    this.#tie(link, server, client);
    if (this.#silent) kill(link);
  }

  /** The end of one side is the end of the other. */
  #tie(link: Link, one: Socket, other: Socket): void {
    one.on('error', () => undefined);
    one.on('end', () => {
      if (!link.dead) other.end();
    });
    one.on('close', () => {
      this.#links.delete(link);
      if (!link.dead) other.destroy();
    });
  }

  #answer(link: Link, bytes: Buffer): void {
    if (this.#held?.link === link) {
      this.#held.bytes.push(bytes);
      return;
    }
    const rewrite = this.#rewrite;
    this.#rewrite = undefined;
    const sent = rewrite ? rewrite(bytes) : bytes;
    if (sent) this.#deliver(link, sent);
    else {
      link.client.destroy();
      link.server.destroy();
    }
  }

  /** Late, but in order: what comes behind never overtakes. */
  #deliver(link: Link, bytes: Buffer): void {
    const nowMs = performance.now();
    link.dueMs = Math.max(link.dueMs, nowMs + this.delayMs);
    const waitMs = link.dueMs - nowMs;
    link.underWay.push(bytes);
    const deliver = () => link.client.write(link.underWay.shift()!);
    if (waitMs === 0 && link.underWay.length === 1) deliver();
    else setTimeout(deliver, waitMs).unref();
  }
}

function kill(link: Link): void {
  link.dead = true;
  link.client.pause();
  link.server.pause();
}
