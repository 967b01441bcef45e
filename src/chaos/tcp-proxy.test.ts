import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemEffects } from '../system/effects.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** A proxy to a server that says everything back. */
async function proxied(): Promise<TcpProxy> {
  const server = createServer((socket) => void socket.on('error', () => undefined).pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const proxy = await TcpProxy.open({ host: '127.0.0.1', port }, systemEffects);
  onTestFinished(() => {
    proxy.close();
    server.close();
  });
  return proxy;
}

async function open(proxy: TcpProxy): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: proxy.port });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function said(socket: Socket, text: string): Promise<string> {
  const answer = once(socket, 'data');
  socket.write(text);
  return String((await answer)[0]);
}

test('a proxy passes on what is said, and counts the connections it cuts; new ones work [X.11]', async () => {
  const proxy = await proxied();
  const socket = await open(proxy);
  expect(await said(socket, 'hello')).toBe('hello');
  const closed = once(socket, 'close');
  expect(proxy.cut()).toBe(1);
  await closed;
  expect(await said(await open(proxy), 'again')).toBe('again');
  expect(proxy.hits.cut).toBe(1);
});

test('a slow proxy hands on everything later and in its order [X.11]', async () => {
  const proxy = await proxied();
  const socket = await open(proxy);
  proxy.delay(30);
  const startedMs = systemEffects.monoMs();
  expect(await said(socket, 'one')).toBe('one');
  expect(systemEffects.monoMs() - startedMs).toBeGreaterThanOrEqual(58);
  proxy.delay(0);
  expect(await said(socket, 'two')).toBe('two');
  expect(proxy.hits.delayed).toBe(2);
});

test('what has fallen silent stays open until that ends, and others pass it [X.11]', async () => {
  const proxy = await proxied();
  const socket = await open(proxy);
  expect(await said(socket, 'one')).toBe('one');
  expect(proxy.fallSilent()).toBe(1);
  let heard = '';
  socket.on('data', (data) => (heard += String(data)));
  socket.write('lost');
  expect(await said(await open(proxy), 'another')).toBe('another');
  expect([heard, socket.destroyed]).toEqual(['', false]);
  const closed = once(socket, 'close');
  proxy.endSilent();
  await closed;
});

test('a proxy that is shut ends every connection and takes none until it lets pass again [X.11]', async () => {
  const proxy = await proxied();
  const socket = await open(proxy);
  const closed = once(socket, 'close');
  proxy.shut();
  await closed;
  const refused = connect({ host: '127.0.0.1', port: proxy.port });
  await new Promise<void>((resolve) => void refused.on('error', () => undefined).once('close', () => resolve()));
  expect(proxy.hits).toMatchObject({ cut: 1, refused: 1 });
  proxy.letPass();
  expect(await said(await open(proxy), 'back')).toBe('back');
});
