import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A service behind the gateway, on this machine. It answers, and keeps `/events` open. */
export class Service {
  protected readonly server = createServer(({ url }, response) => {
    if (url === '/events') this.#listen(response);
    else response.end(`${this.name} answers ${url}\n`);
  });
  readonly #listeners = new Set<ServerResponse>();

  constructor(readonly name: string) {}

  /** Streams that are open. */
  get streams(): number {
    return this.#listeners.size;
  }

  /** Starts to listen and tells where. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Says something on every stream. */
  tell(text: string): void {
    for (const listener of this.#listeners) listener.write(`data: ${text}\n\n`);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  #listen(response: ServerResponse): void {
    this.#listeners.add(response);
    response.once('close', () => this.#listeners.delete(response));
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    // A proxy hands on the headers together with what comes first.
    response.write('data: welcome\n\n');
  }
}
