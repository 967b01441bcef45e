import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Starts an HTTP server for the running test and answers its address. Counts are the caller's: it sees every request. */
export async function httpServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  onTestFinished(async () => {
    server.closeAllConnections();
    await closed(server);
  });
  return `http://127.0.0.1:${await listening(server)}`;
}

/** Starts a bare TCP server for the running test and answers its port. */
export async function tcpServer(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await closed(server);
  });
  return listening(server);
}

/** A port on 127.0.0.1 at which nobody listens any more. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listening(server);
  await closed(server);
  return port;
}

/** What `act` rejects with. A success is a failure of the test. */
export async function thrownBy(act: () => unknown): Promise<unknown> {
  try {
    await act();
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function closed(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}
