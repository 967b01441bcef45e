import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';

/**
 * Where a connection is stopped: before the server has read the words, once they are sent, or once it has answered to them; or
 * not at all, when all that matters is that they were sent.
 */
export type WirePoint = 'unsent' | 'sent' | 'answered' | 'passed';

/** A connection that is stopped: nothing passes in either direction. */
interface StoppedWire {
  /** For both sides, as when a cable is cut. */
  cut(): void;
}

interface Trap {
  readonly words: string;
  readonly point: WirePoint;
  readonly caught: (wire: StoppedWire) => void;
}

/**
 * A way to a server on which connections can be cut at an exact place. It knows nothing of the protocol: it looks for words in
 * what a client sends, and a client that waits for each answer has the next packet of the server as the answer.
 */
export interface Wire {
  /** Leads through it. */
  readonly url: string;
  /** The next connection over which these words are sent is stopped there. */
  stopAt(words: string, point: WirePoint): Promise<StoppedWire>;
  close(): Promise<void>;
}

/** Opens a way to the server at `url`. */
export async function openWire(url: string): Promise<Wire> {
  const target = new URL(url);
  let trap: Trap | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || '5432'), target.hostname);
    let isStopped = false;
    let waiting: Trap | undefined;
    const cut = (): void => [client, upstream].forEach((socket) => socket.destroy());
    const stop = (caught: Trap['caught']): void => {
      isStopped = true;
      caught({ cut });
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        if (!isStopped) cut();
      });
    }
    client.on('data', (data) => {
      if (isStopped) return;
      const met = trap !== undefined && data.includes(trap.words, 0, 'latin1') ? trap : undefined;
      if (met === undefined) return void upstream.write(data);
      trap = undefined;
      if (met.point !== 'unsent') upstream.write(data);
      if (met.point === 'answered') waiting = met;
      else if (met.point === 'passed') met.caught({ cut });
      else stop(met.caught);
    });
    upstream.on('data', (data) => {
      if (waiting !== undefined) stop(waiting.caught);
      if (!isStopped) client.write(data);
      waiting = undefined;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const leads = new URL(url);
  leads.hostname = '127.0.0.1';
  leads.port = String((server.address() as AddressInfo).port);
  return {
    url: leads.href,
    stopAt: (words, point) => {
      const { promise, resolve } = Promise.withResolvers<StoppedWire>();
      trap = { words, point, caught: resolve };
      return promise;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
