import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A way to a server which can look as if that had been killed or had stopped. */
export interface BreakableWire {
  /** Leads through it. */
  readonly url: string;
  /** All connections break, and new ones are refused, until it is started. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Connections are accepted and nothing passes, until it goes on: what was sent meanwhile arrives then. */
  hang(): void;
  goOn(): void;
}

/** Opens a way to the server at `url`. It ends with the test. */
export async function breakableWire(url: string): Promise<BreakableWire> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isHanging = false;
  const accept = (client: Socket): void => {
    const server = connect(Number(target.port || '5432'), target.hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('data', (data) => to.write(data));
      if (isHanging) from.pause();
    }
  };
  const listen = async (port: number): Promise<Server> => {
    const server = createServer(accept);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;
  const kill = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  onTestFinished(kill);
  const leads = new URL(url);
  leads.hostname = '127.0.0.1';
  leads.port = String(port);
  return {
    url: leads.href,
    kill,
    start: async () => void (server = await listen(port)),
    hang: () => {
      isHanging = true;
      for (const socket of sockets) socket.pause();
    },
    goOn: () => {
      isHanging = false;
      for (const socket of sockets) socket.resume();
    },
  };
}
