import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';

/** A request as the service saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The connection it came by. */
  readonly socket: Socket;
}

/** A real HTTP server on this machine that answers by a script and remembers what it was asked. */
export interface LocalService extends AsyncDisposable {
  readonly url: string;
  /** In the order of arrival. */
  readonly seen: readonly Seen[];
  /** Sockets that were opened, all in all. */
  readonly sockets: readonly Socket[];
}

/** Answers one request; `index` counts from 0. */
type Handler = (request: Seen, response: ServerResponse, index: number) => void;

export async function startService(handler: Handler): Promise<LocalService> {
  const seen: Seen[] = [];
  const sockets: Socket[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers, socket } = request;
      const one = { method, url, headers, socket, body: Buffer.concat(chunks).toString() };
      handler(one, response, seen.push(one) - 1);
    });
  });
  server.on('connection', (socket: Socket) => sockets.push(socket));
  const url = await listen(server);
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await closed(server);
  };
  return { url, seen, sockets, [Symbol.asyncDispose]: close };
}

/** A service that speaks no HTTP by itself: `onRequest` gets the socket once the head of a request has arrived. */
export async function startSocketService(onRequest: (socket: Socket, index: number) => void): Promise<LocalService> {
  const seen: Seen[] = [];
  const sockets: Socket[] = [];
  const server = createSocketServer((socket) => {
    sockets.push(socket);
    let text = '';
    // A client that gives up resets the connection; that is what these tests are about.
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [method = '', url = ''] = text.split(' ', 2);
      const one = { method, url, headers: {}, socket, body: text };
      text = '';
      onRequest(socket, seen.push(one) - 1);
    });
  });
  const url = await listen(server);
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await closed(server);
  };
  return { url, seen, sockets, [Symbol.asyncDispose]: close };
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

/** Resolves when the service's side of a connection is closed. */
export function closing(socket: Socket | undefined): Promise<void> {
  // Not events.once: a connection that is reset has an error first.
  return new Promise((resolve) => void (!socket || socket.closed ? resolve() : socket.once('close', () => resolve())));
}

/** A port of this machine on which nobody listens. */
export async function deadUrl(): Promise<string> {
  const server = createSocketServer();
  const url = await listen(server);
  await closed(server);
  return url;
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => void server.close(() => resolve()));
}
