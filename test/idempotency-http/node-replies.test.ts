import { once } from 'node:events';
import { createServer, IncomingMessage, request, type RequestListener, type Server, ServerResponse } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { createGzip, type Gzip } from 'node:zlib';
import express, { type NextFunction, type Request, type Response } from 'express';
import fastify from 'fastify';
import { expect, onTestFinished, test, vi } from 'vitest';
import { idempotent as onExpress } from '../../src/express/index.ts';
import { type FastifyRequestLike, idempotent as onFastify } from '../../src/fastify/index.ts';
import { HttpRun } from '../../src/idempotency/http/http-run.ts';
import {
  type Idempotency,
  idempotency,
  type IdempotencyEvent,
  memoryIdempotency,
} from '../../src/idempotency/index.ts';
import { GuardedResponse } from '../../src/node-http/guarded-response.ts';

function guard(events: IdempotencyEvent[] = []): Idempotency<never> {
  return idempotency({ service: 'shop', store: memoryIdempotency(), observers: [(event) => events.push(event)] });
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function route(handler: (response: Response) => void, options: RouteParts = {}): Promise<string> {
  const app = express();
  if (options.before !== undefined) app.use(options.before);
  const { idem = guard(), leaseMs } = options;
  const guarded = onExpress(idem, { person: 'anyone', ...(leaseMs !== undefined && { leaseMs }) });
  app.post('/', guarded, (_request, response) => handler(response));
  return listen(createServer(app as RequestListener));
}

interface RouteParts {
  readonly idem?: Idempotency<never>;
  readonly leaseMs?: number;
  readonly before?: (request: Request, response: Response, next: NextFunction) => void;
}

/** As the usual middleware does it: it stands first, and decides when the head goes out. */
function compressing(_request: Request, response: Response, next: NextFunction): void {
  const { write, end, writeHead } = response as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>;
  let gzip: Gzip | undefined;
  let hasBegun = false;
  Object.assign(response, {
    writeHead: (...args: unknown[]) => {
      if (!hasBegun && response.getHeader('content-encoding') === undefined) {
        response.setHeader('content-encoding', 'gzip');
        response.removeHeader('content-length');
        gzip = createGzip()
          .on('data', (chunk) => write?.call(response, chunk))
          .on('end', () => end?.call(response));
      }
      hasBegun = true;
      return writeHead?.apply(response, args);
    },
    write: (chunk: Uint8Array) => {
      if (!response.headersSent) response.writeHead(response.statusCode);
      return gzip === undefined ? write?.call(response, chunk) : gzip.write(chunk);
    },
    end: (chunk?: Uint8Array) => {
      if (!response.headersSent) response.writeHead(response.statusCode);
      if (gzip === undefined) return end?.call(response, chunk);
      return gzip.end(typeof chunk === 'function' ? undefined : chunk);
    },
  });
  next();
}

async function post(url: string, signal?: AbortSignal): Promise<globalThis.Response> {
  return fetch(url, { method: 'POST', headers: { 'idempotency-key': 'k' }, ...(signal ? { signal } : {}) });
}

const ANSWERS: Readonly<Record<string, (response: Response) => void>> = {
  'in one go': (response) => void response.type('text').send('hello'),
  'in pieces': (response) => {
    response.type('text').write('hel');
    response.end('lo');
  },
};

test.each(Object.entries(ANSWERS))(
  'a reply %s passes through a layer that compresses, the first time and again [X.15]',
  async (_name, answer) => {
    const url = await route(answer, { before: compressing });
    const read = async (): Promise<unknown> => {
      const response = await post(url);
      const { headers } = response;
      return [headers.get('idempotent-replayed'), headers.get('content-encoding'), await response.text()];
    };
    expect([await read(), await read()]).toEqual([
      ['false', 'gzip', 'hello'],
      ['true', 'gzip', 'hello'],
    ]);
  },
);

test('a head that the handler sends ahead goes out at once, and is kept [X.15]', async () => {
  let end = (): void => undefined;
  const url = await route((response) => {
    response.type('text/event-stream').flushHeaders();
    end = () => response.end('data: 1\n\n');
  });
  const first = await post(url);
  expect(first.headers.get('content-type')).toMatch('text/event-stream');
  end();
  expect(await first.text()).toBe('data: 1\n\n');
  const second = await post(url);
  expect([second.headers.get('content-type'), await second.text()]).toEqual([
    first.headers.get('content-type'),
    'data: 1\n\n',
  ]);
});

test('HTTP/2 is answered, and answered again [X.15]', async () => {
  const app = fastify({ http2: true });
  const warnings: unknown[] = [];
  const listener = (warning: unknown): unknown => warnings.push(warning);
  process.on('warning', listener);
  let n = 0;
  app.post(
    '/',
    { preHandler: onFastify(guard(), { person: (_request: FastifyRequestLike) => 'ada' }) },
    async (_request, reply) => reply.code(201).send({ n: ++n }),
  );
  await app.listen({ port: 0, host: '127.0.0.1' });
  const session = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
  onTestFinished(async () => {
    process.off('warning', listener);
    session.close();
    await app.close();
  });
  const ask = async (body: string, key: string | string[] = 'k'): Promise<unknown> => {
    const headers = { ':method': 'POST', 'content-type': 'application/json', 'idempotency-key': key };
    const stream = session.request(headers);
    stream.end(body);
    const [head] = (await once(stream, 'response')) as [Record<string, unknown>];
    const text = (await stream.setEncoding('utf8').toArray()).join('');
    return [head[':status'], head['idempotent-replayed'], text.slice(0, 36)];
  };
  expect(await ask('{"a":1}')).toEqual([201, 'false', '{"n":1}']);
  expect(await ask('{"a":1}')).toEqual([201, 'true', '{"n":1}']);
  expect(await ask('{"a":2}')).toMatchObject([422, undefined, expect.anything()]);
  expect(await ask('{"a":1}', ['k', 'l'])).toMatchObject([400, undefined, expect.anything()]);
  expect(warnings).toEqual([]);
});

test.each([
  ['pipe', (source: Readable, response: Response): unknown => source.pipe(response)],
  ['pipeline', (source: Readable, response: Response): unknown => pipeline(source, response, () => undefined)],
])(
  'a client that leaves in the middle of a stream made by %s leaves a run in doubt, not one that seems to go on [X.15]',
  async (_name, send) => {
    const events: IdempotencyEvent[] = [];
    const url = await route(
      (response) => {
        const source = new Readable({ read: () => undefined });
        source.push('a beginning');
        send(source, response);
      },
      { idem: guard(events), leaseMs: 1_000 },
    );
    const leave = new AbortController();
    const response = await post(url, leave.signal);
    await response.body?.getReader().read();
    leave.abort();
    await expect.poll(() => events.map(({ kind }) => kind)).toEqual(['first', 'doubted']);
    expect(await (await post(url)).json()).toMatchObject({ type: 'urn:holdfast:idempotency:unknown-outcome' });
  },
);

test('a reply that goes on after its client has left is kept; one that does not is in doubt after a lease [X.15]', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const idem = guard();
  const begin = async (key: string): Promise<ServerResponse> => {
    const entry = await idem.enter({ domain: 'd', key, person: null, fingerprint: '' });
    if (entry.kind !== 'run') throw new Error(entry.kind);
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const run = new HttpRun(entry.run, {}, () => Promise.reject(new Error('nobody has won')));
    void new GuardedResponse(response, run, run.header);
    response.write('a');
    response.emit('close');
    return response;
  };
  const statusOf = async (key: string): Promise<unknown> =>
    (await idem.find({ domain: 'd', key, person: null }))?.status;
  const goesOn = await begin('goes on');
  await begin('stops');
  await vi.advanceTimersByTimeAsync(29_000);
  goesOn.write('b');
  await vi.advanceTimersByTimeAsync(2_000);
  expect([await statusOf('goes on'), await statusOf('stops')]).toEqual(['processing', 'unknown']);
  goesOn.end('c');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await statusOf('goes on')).toBe('completed');
});

test('a handler that ends with what cannot be sent is answered by its error handler, and so is a repetition [X.15]', async () => {
  const app = express();
  app.post('/', onExpress(guard(), { person: 'anyone' }), (_request, response) => void response.end({ a: 1 }));
  app.use((_error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    response.status(500).send('it failed');
  });
  const url = await listen(createServer(app as RequestListener));
  for (const isAgain of ['false', 'true']) {
    const response = await post(url);
    expect([response.status, await response.text()]).toEqual([500, 'it failed']);
    expect(response.headers.get('idempotent-replayed')).toBe(isAgain);
  }
});

test('a reply in pieces that is too large to be kept is sent to its last byte [X.15]', async () => {
  const url = await route((response) => {
    response.write(Buffer.alloc(1_500_000, 'a'));
    response.write(Buffer.alloc(1_000, 'b'));
    response.end('the end');
  });
  expect((await (await post(url)).text()).slice(-10)).toBe('bbbthe end');
  expect((await post(url)).status).toBe(410);
});

test('Fastify: bytes that were sent without a type are sent again without one [S1.1]', async () => {
  const app = fastify();
  const guarded = onFastify<never, FastifyRequestLike>(guard(), { person: 'anyone' });
  app.post('/', { preHandler: guarded }, async (_request, reply) => {
    reply.hijack();
    reply.raw.end(Buffer.of(0, 255, 10));
  });
  onTestFinished(() => app.close());
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  for (const isAgain of ['false', 'true']) {
    const response = await post(url);
    expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([0, 255, 10]);
    expect([response.headers.get('content-type'), response.headers.get('content-length')]).toEqual([null, '3']);
    expect(response.headers.get('idempotent-replayed')).toBe(isAgain);
  }
});

test('Express: names of headers are sent again as the handler wrote them [S1.1]', async () => {
  const url = await route(
    (response) => void response.setHeader('X-Own-Name', ['a', 'b']).setHeader('ETag', '"1"').end('done'),
  );
  const named = async (): Promise<readonly string[]> => {
    const sent = request(url, { method: 'POST', headers: { 'idempotency-key': 'names' } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.rawHeaders.filter((_, at) => at % 2 === 0).filter((name) => /own|etag/i.test(name));
  };
  expect(await named()).toEqual(['X-Own-Name', 'X-Own-Name', 'ETag']);
  expect(await named()).toEqual(['X-Own-Name', 'X-Own-Name', 'ETag']);
});
