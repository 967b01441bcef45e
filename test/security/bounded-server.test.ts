import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { boundedServer, type ServerBounds } from '../../src/server/index.ts';
import { hostileClient } from './hostile-clients.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A server with these bounds; gives its port. */
async function serve(listener: Listener, bounds: ServerBounds = {}): Promise<number> {
  const server = boundedServer<Server>(listener, bounds);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const GET = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n';

test('requests of one connection are answered one after the other, in their order [X.9]', async () => {
  let [atOnce, most, count] = [0, 0, 0];
  const port = await serve((request, response) => {
    most = Math.max(most, (atOnce += 1));
    response.on('finish', () => (atOnce -= 1));
    setImmediate(() => response.end(`<${(count += 1)}${request.url}>`));
  });
  const socket = connect(port, '127.0.0.1');
  socket.write(Array.from({ length: 17 }, (_, i) => GET.replace('/', `/${i}`)).join(''));
  let heard = '';
  socket.on('data', (part) => (heard += part.toString()));
  await expect.poll(() => heard.match(/<\d+\/\d+>/g)?.length).toBe(17);
  expect(heard.match(/<\d+\/\d+>/g)).toEqual(Array.from({ length: 17 }, (_, i) => `<${i + 1}/${i}>`));
  expect(most).toBe(1);
  socket.destroy();
});

test('a connection that queues more requests than there may be is closed, and makes no further response [X.9]', async () => {
  let begun = 0;
  const port = await serve(() => (begun += 1), { maxPipelined: 3 });
  const client = await hostileClient(port, GET.repeat(900));
  await expect.poll(client.isClosed).toBe(true);
  expect(begun).toBe(1);
});

test('a peer that takes nothing of a response is closed, one that reads slowly is not [X.9]', async () => {
  const part = Buffer.alloc(65_536);
  const port = await serve(
    (_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(part));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    },
    { stallMs: 400 },
  );
  const slow = connect(port, '127.0.0.1');
  let read = 0;
  slow.on('data', (data: Buffer) => {
    read += data.length;
    slow.pause();
    setTimeout(() => slow.resume(), 20);
  });
  slow.write(GET);
  const never = await hostileClient(port, GET);
  const dripping = await hostileClient(port, GET, 'G');
  await expect.poll(() => [never.isClosed(), dripping.isClosed()]).toEqual([true, true]);
  const sofar = read;
  await expect.poll(() => read).toBeGreaterThan(sofar);
  expect(slow.destroyed).toBe(false);
  slow.destroy();
});

test('slow heads and slow bodies end when their time is up [X.9]', async () => {
  const port = await serve((request, response) => void request.resume().on('end', () => response.end()), {
    headersMs: 200,
    requestMs: 300,
  });
  const clients = [
    await hostileClient(port, 'GET'),
    await hostileClient(port, 'GET / HTTP/1.1\r\nx: ', 'a'),
    await hostileClient(port, 'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n', 'a'),
  ];
  for (const { socket } of clients) socket.resume();
  await expect.poll(() => clients.map((client) => client.isClosed())).toEqual([true, true, true]);
});

test('one peer cannot have all connections, and gets others when it closes some [X.9]', async () => {
  const port = await serve((_request, response) => response.end('ok'), { maxConnectionsPerPeer: 5, maxConnections: 8 });
  const mine = await Promise.all(Array.from({ length: 5 }, () => hostileClient(port, 'GET ')));
  const sixth = await hostileClient(port, GET);
  sixth.socket.resume();
  await expect.poll(sixth.isClosed).toBe(true);
  // Another address of this machine is another peer.
  const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  let heard = '';
  other.on('data', (part) => (heard += part.toString()));
  other.write(GET);
  await expect.poll(() => heard).toContain('200 OK');
  other.destroy();
  expect(mine.filter((client) => client.isClosed())).toEqual([]);
  mine[0]?.socket.destroy();
  await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined))?.status).toBe(200);
});

test('bounds that are none are refused [X.9]', () => {
  expect(() => boundedServer(() => undefined, { maxPipelined: 0 })).toThrow(/maxPipelined/);
  expect(() => boundedServer(() => undefined, { maxSockets: 1 } as never)).toThrow(/maxSockets/);
});
