import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { deliveries, type DeliveryKit, sink } from './kit.ts';

type Report = DeliveryKit['sender']['reports'][number];

/** A destination that speaks for itself: it gets the socket as soon as a request has begun to arrive. */
async function rawSink(speak: (socket: Socket) => void): Promise<{ url: string; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.once('data', () => speak(socket));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, sockets };
}

/** Says the text again and again, as fast as it is taken, or every so many milliseconds. */
function saysForEver(socket: Socket, text: string, everyMs?: number): { written: number } {
  const said = { written: 0 };
  const say = (): void => {
    if (socket.destroyed) return;
    said.written += text.length;
    const goesOn = socket.write(text);
    if (everyMs !== undefined) setTimeout(say, everyMs);
    else if (goesOn) setImmediate(say);
    else socket.once('drain', say);
  };
  say();
  return said;
}

async function reportOf({ sender, publish }: DeliveryKit, url: string): Promise<Report> {
  const id = await publish({ url, retries: 0, body: 'x' });
  const found = (): Report | undefined => sender.reports.find(({ messageId }) => messageId === id);
  await expect.poll(found).toBeDefined();
  return found() as Report;
}

describe('a destination', () => {
  test('that drips its answer, or its headers, ends when the time of the attempt is up [X.8]', async () => {
    const body = await rawSink((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      saysForEver(socket, '.', 5);
    });
    const headers = await rawSink((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      saysForEver(socket, 'X: y\r\n', 5);
    });
    const silent = await rawSink(() => undefined);
    const kit = await deliveries({ timeoutMs: 150 });
    for (const { url, sockets } of [body, headers, silent]) {
      const { state, error, responseStatus } = await reportOf(kit, url);
      expect({ state, error, responseStatus }).toEqual({ state: 'FAILED', error: 'it took longer than 150 ms' });
      await expect.poll(() => sockets.size).toBe(0);
    }
  });

  test('whose answer has no end is cut off at what is kept [X.8]', async () => {
    let said = { written: 0 };
    const { url, sockets } = await rawSink((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      said = saysForEver(socket, 'a'.repeat(16_384));
    });
    const kit = await deliveries({ maxResponseBytes: 1_000 });
    const { state, responseBody } = await reportOf(kit, url);
    expect([state, responseBody?.length]).toEqual(['DELIVERED', 1_000]);
    await expect.poll(() => sockets.size).toBe(0);
    // What the two sockets hold between them, not what it would have liked to say.
    expect(said.written).toBeLessThan(32 * 1_048_576);
  });

  test('that sends more headers than anybody needs has failed, and its socket is closed [X.8]', async () => {
    const one = await rawSink((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`);
    });
    const endless = await rawSink((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      saysForEver(socket, `X: ${'a'.repeat(1_000)}\r\n`);
    });
    const kit = await deliveries();
    for (const { url, sockets } of [one, endless]) {
      const { state, error, responseHeaders } = await reportOf(kit, url);
      expect({ state, error, responseHeaders }).toMatchObject({
        state: 'FAILED',
        error: expect.stringContaining('HPE_HEADER_OVERFLOW'),
      });
      await expect.poll(() => sockets.size).toBe(0);
    }
  });

  test('that resets, closes, talks rubbish or changes the protocol has failed, and says so [X.8]', async () => {
    const ways: Record<string, (socket: Socket) => unknown> = {
      reset: (socket) => socket.resetAndDestroy(),
      'close without an answer': (socket) => socket.end(),
      'close in the middle': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'),
      rubbish: (socket) => socket.end('SSH-2.0-x\r\n'),
      upgrade: (socket) => socket.end('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    };
    const kit = await deliveries();
    for (const [way, speak] of Object.entries(ways)) {
      const { url } = await rawSink(speak);
      const { state, error } = await reportOf(kit, url);
      expect([way, state, error]).toEqual([way, 'FAILED', expect.stringMatching(/./)]);
    }
    const { state, error } = await reportOf(kit, 'http://127.0.0.1:1/');
    expect([state, error]).toEqual(['FAILED', expect.stringContaining('ECONNREFUSED')]);
  });

  test('that redirects is not followed, wherever it points to [X.8]', async () => {
    const other = await sink();
    const { url } = await sink((response, { path }) => {
      const location = path === '/metadata' ? 'http://169.254.169.254/latest/meta-data/' : `${other.url}/next`;
      response.writeHead(path === '/metadata' ? 302 : 307, { location }).end('moved');
    });
    const kit = await deliveries();
    const told = await reportOf(kit, `${url}/metadata`);
    expect(told).toMatchObject({
      state: 'FAILED',
      responseStatus: 302,
      responseHeaders: { Location: ['http://169.254.169.254/latest/meta-data/'] },
    });
    expect(await reportOf(kit, `${url}/here`)).toMatchObject({ state: 'FAILED', responseStatus: 307 });
    expect(other.arrived).toEqual([]);
  });

  test('that hangs holds up no other, however many messages wait for it [X.8]', async () => {
    const hanging = await Promise.all(Array.from({ length: 4 }, () => rawSink(() => undefined)));
    const good = await sink();
    const kit = await deliveries({ concurrency: 16, timeoutMs: 60_000 });
    kit.sender.queues.set('wide', { parallelism: 100, isPaused: false });
    for (const { url } of hanging) {
      for (let i = 0; i < 40; i++) {
        const line = [{}, { queue: 'wide' }, { flowKey: 'wide' }][i % 3];
        await kit.publish({ url, ...line });
      }
    }
    await expect.poll(() => hanging.every(({ sockets }) => sockets.size > 0)).toBe(true);
    for (let i = 0; i < 100; i++) await kit.publish({ url: `${good.url}/${i}` });
    await expect.poll(() => new Set(good.arrived.map(({ path }) => path)).size).toBe(100);
    expect(kit.sender.reports.filter(({ request }) => !request.url.startsWith(good.url))).toEqual([]);
  });
});

describe('a name', () => {
  const resolve =
    (...answers: string[][]) =>
    (_host: string, answer: (error: null, addresses: { address: string; family: number }[]) => void): void => {
      const addresses = answers.length > 1 ? answers.shift() : answers[0];
      answer(
        null,
        (addresses ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    };

  test('that resolves to an address that may not be called is not called [X.8]', async () => {
    const { url, arrived } = await sink();
    const { port } = new URL(url);
    const kit = await deliveries({ addresses: {}, resolve: resolve(['127.0.0.1']) });
    const told = await reportOf(kit, `http://inside.example:${port}/`);
    expect(told).toMatchObject({ state: 'FAILED', error: expect.stringContaining('127.0.0.1 is not a public one') });
    expect(arrived).toEqual([]);
  });

  test('that resolves to several is called at those that are allowed only [X.8]', async () => {
    const { url, arrived } = await sink();
    const port = Number(new URL(url).port);
    let calls = 0;
    const inside = createServer(() => (calls += 1)).listen(port, '127.0.0.2');
    onTestFinished(() => void inside.close());
    const kit = await deliveries({
      addresses: { allow: ['127.0.0.1'] },
      resolve: resolve(['127.0.0.2', '169.254.169.254', '127.0.0.1', '::ffff:127.0.0.2']),
    });
    expect(await reportOf(kit, `http://several.example:${port}/`)).toMatchObject({ state: 'DELIVERED' });
    expect(arrived.map(({ headers }) => headers.host)).toEqual([`several.example:${port}`]);
    expect(calls).toBe(0);
  });

  test('is asked once for each connection: a second answer has no effect, and the next connection is judged anew [X.8]', async () => {
    let connections = 0;
    const { url, server, arrived } = await sink((response) => response.setHeader('connection', 'close').end());
    server.on('connection', () => (connections += 1));
    const { port } = new URL(url);
    const kit = await deliveries({
      addresses: { allow: ['127.0.0.1'] },
      resolve: resolve(['127.0.0.1'], ['127.0.0.2']),
    });
    expect(await reportOf(kit, `http://rebound.example:${port}/a`)).toMatchObject({ state: 'DELIVERED' });
    expect(await reportOf(kit, `http://rebound.example:${port}/b`)).toMatchObject({
      state: 'FAILED',
      error: expect.stringContaining('127.0.0.2 is not a public one'),
    });
    expect([connections, arrived.length]).toEqual([1, 1]);
  });
});
