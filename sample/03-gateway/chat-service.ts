import { WebSocketServer } from 'ws';
import { Service } from './service.js';

/** A service that also talks over WebSockets: it says again what it is told. */
export class ChatService extends Service {
  readonly #sockets = new WebSocketServer({ server: this.server });

  constructor(name: string) {
    super(name);
    this.#sockets.on('connection', (socket) => {
      socket.on('message', (message) => socket.send(message, { binary: false }));
    });
  }

  override stop(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#sockets.close();
    super.stop();
  }
}
