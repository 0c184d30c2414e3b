import type { IncomingMessage, RequestOptions } from 'node:http';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Answer } from './tally.js';
import { answerOf } from './tally.js';

/** Requests under way at once. */
const MAX_SOCKETS = 50;
/** How long a gateway may be silent before it is given up. */
const SILENCE_MS = 10_000;

/**
 * Clients of the gateway. All of them are this process: it says who it is as a proxy would, and the
 * gateway trusts proxies on this machine.
 */
export class Visitors {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });

  constructor(private readonly port: number) {}

  /** Asks many times at once, in the name of so many clients. */
  ask(url: string, times: number, clients: number): Promise<Answer[]> {
    const asking = Array.from({ length: times }, async (_, i) => {
      const response = await this.#send(url, i % clients, { agent: this.#agent });
      return answerOf(response.statusCode!, await text(response));
    });
    return Promise.all(asking);
  }

  /** Opens a stream, which stays open until it is closed. */
  async open(url: string, client: number): Promise<Stream> {
    const response = await this.#send(url, client, { agent: false });
    if (response.statusCode === 200)
      return new Stream({ status: 200, refusedBy: undefined }, response);
    return new Stream(answerOf(response.statusCode!, await text(response)), response);
  }

  close(): void {
    this.#agent.destroy();
  }

  /** No DNS has to know names below `localhost`: the address is always that of this machine. */
  #send(url: string, client: number, options: RequestOptions): Promise<IncomingMessage> {
    const { host, pathname } = new URL(`http://${url}`);
    const headers = { host, ...headersOf(client) };
    const place = { host: '127.0.0.1', port: this.port, path: pathname };
    return new Promise((resolve, reject) => {
      const sent = request({ ...options, ...place, headers, timeout: SILENCE_MS }, resolve);
      sent.on('timeout', () => sent.destroy(new Error(`No answer from ${url}.`)));
      sent.on('error', reject).end();
    });
  }
}

/** What a request of a client carries. The addresses are those reserved for examples. */
export function headersOf(client: number): Record<string, string> {
  return { 'X-Forwarded-For': `198.51.100.${client + 1}` };
}

/** A stream of events, or the refusal of one. */
export class Stream {
  #heard = '';

  constructor(
    readonly answer: Answer,
    private readonly response: IncomingMessage,
  ) {
    // Ends with an error when it is closed from here.
    response.on('error', () => undefined);
    response.on('data', (chunk) => (this.#heard += String(chunk)));
  }

  get isOpen(): boolean {
    return this.answer.status === 200 && !this.response.closed;
  }

  hasHeard(something: string): boolean {
    return this.#heard.includes(`data: ${something}\n`);
  }

  close(): void {
    this.response.destroy();
  }
}
