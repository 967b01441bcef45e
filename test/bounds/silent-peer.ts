import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Somebody who accepts connections and, sooner or later, says nothing any more. */
export interface SilentPeer {
  readonly port: number;
  /** From now on nothing comes through it, neither on what is open nor on what is opened. */
  fallSilent(): void;
  /** Accepts no more connections, as a server that is gone. */
  refuse(): void;
  /** How many connections are open. */
  open(): number;
  close(): void;
}

/** A server that accepts and never answers. */
export function silentPeer(): Promise<SilentPeer> {
  return peer(undefined);
}

/**
 * A way to a server of this machine that works until it is told to fall silent; with `until`, each connection does so by itself when
 * the server has said that.
 */
export function silentWay(url: string, until?: Buffer): Promise<SilentPeer> {
  const { hostname, port } = new URL(url);
  return peer({ host: hostname, port: Number(port || 5432), until });
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly until: Buffer | undefined;
}

async function peer(target: Target | undefined): Promise<SilentPeer> {
  const clients = new Set<Socket>();
  const all = new Set<Socket>();
  let isSilent = target === undefined;
  const watch = (socket: Socket): Socket => {
    all.add(socket);
    return socket.on('error', () => undefined).on('close', () => all.delete(socket));
  };
  const server = createServer((client) => {
    clients.add(watch(client).on('close', () => clients.delete(client)));
    // What is read and dropped is no answer, and lets the end of a connection be noticed.
    if (isSilent || !target) return void client.resume();
    const { host, port, until } = target;
    const onward = watch(connect({ host, port }));
    let isOver = false;
    client.on('data', (data) => isSilent || isOver || onward.write(data)).on('close', () => onward.destroy());
    onward.on('close', () => isSilent || client.destroy());
    onward.on('data', (data) => {
      if (isSilent || isOver) return;
      client.write(data);
      isOver = until !== undefined && data.includes(until);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    fallSilent: () => void (isSilent = true),
    refuse: () => void server.close(),
    open: () => clients.size,
    close: () => {
      server.close();
      for (const socket of all) socket.destroy();
    },
  };
}
