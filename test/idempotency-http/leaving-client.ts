import { request, type Server } from 'node:http';
import type { Socket } from 'node:net';

/** One request on a connection of its own, whose client may leave. */
export interface LeavingRequest {
  /** Cuts the connection, and resolves when the server knows. */
  leave(): Promise<void>;
}

/** Sends requests to a server of this process. */
export class LeavingClient {
  readonly #closed = new Map<number, Promise<unknown>>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      // Not `once`: a response that is destroyed is an error of its socket.
      const closed = new Promise((resolve) => socket.on('close', resolve));
      if (socket.remotePort !== undefined) this.#closed.set(socket.remotePort, closed);
    });
  }

  send(url: string, headers: Readonly<Record<string, string>>, body = '{"a":1}'): LeavingRequest {
    const sent = request(url, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': String(body.length), ...headers },
    });
    // Nobody reads the answer: this client is here to leave.
    sent.on('error', () => undefined).on('response', (response) => response.on('error', () => undefined));
    sent.end(body);
    return {
      leave: async () => {
        const port = sent.socket?.localPort ?? 0;
        sent.destroy();
        await this.#closed.get(port);
      },
    };
  }
}
