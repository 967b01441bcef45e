import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server that can be cut, and that can fall silent. New ways through it work again. */
export interface BrokerProxy {
  readonly port: number;
  /** Ends every connection. Gives how many there were. */
  cut(): number;
  /** What is open stays open, and nothing comes through it any more. Gives how many there were. */
  fallSilent(): number;
  /** What is sent through what is open arrives, and no answer comes back. Gives how many there were. */
  loseAnswers(): number;
  close(): void;
}

/** Opens a proxy to a port of this machine. */
export async function brokerProxy(target: number): Promise<BrokerProxy> {
  const open = new Set<readonly [Socket, Socket]>();
  const server = createServer((from) => {
    const to = connect({ host: '127.0.0.1', port: target });
    const pair = [from, to] as const;
    open.add(pair);
    const end = (): void => {
      open.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    from.pipe(to);
    to.pipe(from);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): number => {
    const pairs = [...open];
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    return pairs.length;
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    fallSilent: () => {
      for (const pair of open) for (const socket of pair) socket.unpipe().pause();
      return open.size;
    },
    loseAnswers: () => {
      for (const [, to] of open) to.unpipe().resume();
      return open.size;
    },
    close: () => {
      cut();
      server.close();
    },
  };
}
