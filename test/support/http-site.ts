import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a site was asked. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers a request; what it throws is a mistake of the test. */
export type Answering = (response: ServerResponse, request: ReceivedRequest) => unknown;

/** Everything that was started, to be closed after the test. */
const open = new Set<HttpSite>();

/** A site on this machine. It is reached by any address of 127.0.0.0/8, which are different domains. */
export class HttpSite {
  readonly received: ReceivedRequest[] = [];
  /** Connections whose response ended before it was complete. */
  brokenOff = 0;

  private constructor(
    private readonly server: Server,
    public answering: Answering,
  ) {}

  static async start(answering: Answering = ok): Promise<HttpSite> {
    const server = createServer((request, response) => void site.#serve(request, response));
    const site = new HttpSite(server, answering);
    open.add(site);
    // On all addresses, those of IPv6 among them.
    server.listen(0, '::');
    await once(server, 'listening');
    return site;
  }

  static async closeAll(): Promise<void> {
    await Promise.all([...open].map((site) => site.close()));
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  url(path = '/', host = '127.0.0.1'): string {
    return `http://${host}:${this.port}${path}`;
  }

  async close(): Promise<void> {
    open.delete(this);
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += String(part);
    const { method = '', url: path = '', headers } = request;
    const received = { method, path, headers, body };
    this.received.push(received);
    response.on('close', () => {
      if (!response.writableFinished) this.brokenOff++;
    });
    this.answering(response, received);
  }
}

function ok(response: ServerResponse): void {
  response.setHeader('content-type', 'application/json');
  response.end('{"ok":true}');
}
