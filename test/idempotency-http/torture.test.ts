import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ADAPTERS, type Reply } from './adapters.ts';
import { bench, Door } from './bench-route.ts';
import { call, essence, goAway } from './call.ts';

async function* pieces(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

const BINARY = Uint8Array.from({ length: 300 }, (_, at) => at % 256);

const REPLIES: Readonly<Record<string, (n: number) => Reply>> = {
  json: (n) => ({
    status: 201,
    headers: { 'content-type': 'application/json', 'x-own': `${n}`, location: '/orders/7' },
    body: `{"n":${n}}`,
  }),
  'a list of headers': (n) => ({
    status: 200,
    headers: { 'content-type': 'text/html', link: ['<a>; rel=next', '<b>; rel=prev'] },
    body: `n ${n}`,
  }),
  bytes: (n) => ({ status: 200, headers: { 'content-type': 'image/png', etag: `"${n}"` }, body: BINARY }),
  'an empty body': (n) => ({ status: 200, headers: { 'content-type': 'text/html', 'x-own': `${n}` }, body: '' }),
  'no content': (n) => ({ status: 204, headers: { 'x-own': `${n}` } }),
  'a redirect': (n) => ({ status: 303, headers: { location: `/orders/${n}` } }),
  'an error of the client': (n) => ({
    status: 404,
    headers: { 'content-type': 'application/json' },
    body: `{"error":${n}}`,
  }),
  'an error of the server': (n) => ({ status: 503, headers: { 'content-type': 'text/plain' }, body: `later ${n}` }),
  'a reply in pieces': (n) => ({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    pieces: () => pieces('a', 'b', `${n}`),
  }),
  'a stream of events': (n) => ({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    pieces: () => pieces('data: a\n\n', `data: ${n}\n\n`),
  }),
};

describe.each(ADAPTERS)('$name', (adapter) => {
  test.each(Object.entries(REPLIES))(
    `${adapter.name}: a repetition gets %s again, and nothing runs [S1.1] [X.15]`,
    async (_name, reply) => {
      const { url, count } = await bench(adapter, (n) => reply(n));
      const key = randomUUID();
      const first = await call(url, 'x', { key });
      const second = await call(url, 'x', { key });
      expect(essence(second)).toEqual(essence(first));
      expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([
        'false',
        'true',
      ]);
      expect(count()).toBe(1);
    },
  );

  test(`${adapter.name}: cookies are replayed only where the route asks for them [X.15]`, async () => {
    const reply = {
      status: 200,
      headers: { 'set-cookie': ['a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT', 'b=2'] },
      body: 'x',
    };
    const plain = await bench(adapter, () => reply);
    const asking = await bench(adapter, () => reply, { keepHeaders: ['Set-Cookie'] });
    const key = randomUUID();
    for (const { url } of [plain, asking])
      expect((await call(url, 'x', { key })).headers.getSetCookie()).toHaveLength(2);
    expect((await call(plain.url, 'x', { key })).headers.getSetCookie()).toEqual([]);
    expect((await call(asking.url, 'x', { key })).headers.getSetCookie()).toEqual(reply.headers['set-cookie']);
  });

  test(`${adapter.name}: of 200 requests at once one runs; the others are told to come again, and then get its reply [S1.1]`, async () => {
    const door = new Door();
    const { url, count } = await bench(adapter, async (n) => {
      await door.passed;
      return { status: 201, body: `${n}` };
    });
    const key = randomUUID();
    const first = call(url, 'x', { key });
    await expect.poll(count).toBe(1);
    const others = await Promise.all(Array.from({ length: 199 }, () => call(url, 'x', { key })));
    expect(
      new Set(others.map(({ status, problem, headers }) => `${status} ${problem} ${headers.has('retry-after')}`)),
    ).toEqual(new Set(['409 in-flight true']));
    door.open();
    expect((await first).status).toBe(201);
    expect((await call(url, 'x', { key })).isReplay).toBe(true);
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: who may wait gets the reply of the one that runs [S1.1]`, async () => {
    const door = new Door();
    const { url, count } = await bench(
      adapter,
      async (n) => {
        await door.passed;
        return { status: 201, body: `${n}` };
      },
      { waitMs: 20_000 },
    );
    const key = randomUUID();
    const all = Array.from({ length: 20 }, () => call(url, 'x', { key }));
    await expect.poll(count).toBe(1);
    door.open();
    expect(new Set((await Promise.all(all)).map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set(['201 1']),
    );
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: another body with the same key is refused, also while the first runs, and changes nothing [S1.1] [S1.2]`, async () => {
    const door = new Door();
    const { url, count } = await bench(adapter, async (n) => {
      await door.passed;
      return { status: 201, body: `${n}` };
    });
    const key = randomUUID();
    const first = call(url, 'x', { key, body: { amount: 1 } });
    await expect.poll(count).toBe(1);
    expect(await call(url, 'x', { key, body: { amount: 2 } })).toMatchObject({ status: 422, problem: 'mismatch' });
    door.open();
    await first;
    expect(await call(url, 'x', { key, body: { amount: 2 } })).toMatchObject({ status: 422, problem: 'mismatch' });
    expect(await call(url, 'x?page=2', { key, body: { amount: 1 } })).toMatchObject({ status: 422 });
    expect(await call(url, 'x', { key, body: { amount: 1 } })).toMatchObject({
      status: 201,
      text: '1',
      isReplay: true,
    });
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: headers that the route names are part of the request, others are not [S1.2]`, async () => {
    const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x' }), { headers: ['X-Api-Version'] });
    const key = randomUUID();
    const headers = { 'x-api-version': '1', 'x-other': 'a' };
    expect((await call(url, 'x', { key, headers })).status).toBe(200);
    for (const other of [{ 'x-api-version': '2' }, {}])
      expect(await call(url, 'x', { key, headers: other })).toMatchObject({ status: 422, problem: 'mismatch' });
    expect(await call(url, 'x', { key, headers: { ...headers, 'x-other': 'b' } })).toMatchObject({ isReplay: true });
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: the same body in another order or spelling is the same request [S1.2]`, async () => {
    const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x' }));
    const key = randomUUID();
    const headers = { 'content-type': 'application/json' };
    const same = [
      '{"a":1,"b":{"c":"é","d":[1,2]}}',
      '{ "b": {"d":[1.0,2e0],"c":"\\u00e9"}, "a":1.00 }',
      '{"a":1,"b":{"d":[1,2],"c":"e\u0301"}}',
    ];
    for (const raw of same) expect((await call(url, 'x', { key, raw, headers })).status).toBe(200);
    expect((await call(url, 'x', { key, raw: '{"a":1,"b":{"c":"é","d":[2,1]}}', headers })).status).toBe(422);
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: a key that is missing or cannot be used is refused, and quotes do not matter [S1.1]`, async () => {
    const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x' }));
    expect(await call(url, 'x', { key: null })).toMatchObject({ status: 400, problem: 'key-missing' });
    for (const key of ['', '""', 'a,b', '"a", "b"', 'a b', '"a', 'a"b', 'ä', 'a;b=1', 'x'.repeat(256)]) {
      expect([key, await call(url, 'x', { key })]).toMatchObject([
        key,
        { status: 400, problem: key === '' ? expect.stringMatching('key-') : 'key-invalid' },
      ]);
    }
    expect(count()).toBe(0);
    const key = `a!#$%&'()*+-./:<=>?@[]^_\`{|}~${randomUUID()}`;
    for (const written of [key, `"${key}"`, `  ${key} `])
      expect((await call(url, 'x', { key: written })).status).toBe(200);
    expect(count()).toBe(1);
    expect((await call(url, 'x', { key: '"with, a comma; and \\"quotes\\" \\\\"' })).status).toBe(200);
  });

  test(`${adapter.name}: a route can demand random UUIDs [S1.3]`, async () => {
    const { url } = await bench(adapter, () => ({ status: 200, body: 'x' }), { keyFormat: 'uuid-v4' });
    expect(await call(url, 'x', { key: 'order-7' })).toMatchObject({ status: 400, problem: 'key-invalid' });
    expect((await call(url, 'x')).status).toBe(200);
  });

  test(`${adapter.name}: reading passes without a key, and writing where none is demanded [S1.1]`, async () => {
    const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x' }), { required: false });
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      for (const key of [null, 'k']) expect((await call(url, 'x', { key, method })).status).toBe(200);
    }
    const before = count();
    for (const times of [1, 2]) expect([times, (await call(url, 'x', { key: null })).status]).toEqual([times, 200]);
    expect(count()).toBe(before + 2);
  });

  test(`${adapter.name}: nobody gets the reply of somebody else [S1.1]`, async () => {
    const { url, count } = await bench(adapter, (n) => ({ status: 200, body: `${n}` }));
    const key = randomUUID();
    const texts: string[] = [];
    for (const person of ['ada', 'bob', 'ada', 'bob']) {
      texts.push((await call(url, 'x', { key, headers: { 'x-person': person } })).text);
    }
    expect(texts).toEqual(['1', '2', '1', '2']);
    expect(count()).toBe(2);
  });

  test(`${adapter.name}: the same key at another address is another request [S1.1]`, async () => {
    const { url, count } = await bench(adapter, (n) => ({ status: 200, body: `${n}` }));
    const key = randomUUID();
    await call(url, 'x', { key });
    const other = await call(url, 'y', { key });
    const put = await call(url, 'x', { key, method: 'PUT' });
    expect([other.isReplay, put.isReplay]).toEqual([false, false]);
    expect(count()).toBeGreaterThanOrEqual(2);
  });

  test(`${adapter.name}: a handler that throws is not run again: its 500 is what there is [X.15]`, async () => {
    const { url, count } = await bench(adapter, () => {
      throw new Error('boom');
    });
    const key = randomUUID();
    expect((await call(url, 'x', { key })).status).toBe(500);
    expect(await call(url, 'x', { key })).toMatchObject({ status: 500, isReplay: true });
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: a route can release replies, or say that they are in doubt [X.15]`, async () => {
    const { url, count } = await bench(
      adapter,
      (n) => ({ status: n === 1 ? 503 : n === 2 ? 502 : 200, body: `${n}` }),
      {
        keep: ({ status }) => (status === 503 ? 'release' : status === 502 ? 'doubt' : 'keep'),
      },
    );
    const key = randomUUID();
    const told = [];
    for (let time = 0; time < 3; time++) told.push(await call(url, 'x', { key }));
    expect(told.map(({ status, problem }) => [status, problem])).toEqual([
      [503, undefined],
      [502, undefined],
      [409, 'unknown-outcome'],
    ]);
    expect(count()).toBe(2);
  });

  test(`${adapter.name}: a reply that is too large to be kept is sent once, and never made again [X.15]`, async () => {
    const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x'.repeat(5_000) }), {
      maxReplyBytes: 4_000,
    });
    const key = randomUUID();
    expect((await call(url, 'x', { key })).bytes).toHaveLength(5_000);
    expect(await call(url, 'x', { key })).toMatchObject({ status: 410, problem: 'reply-not-kept' });
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: a reply in pieces that grows too large to be kept is sent whole, and never made again [X.15]`, async () => {
    const parts = Array.from('abcdef', (letter) => letter.repeat(1_000));
    const { url, count } = await bench(
      adapter,
      () => ({ status: 200, headers: { 'content-type': 'text/plain' }, pieces: () => pieces(...parts) }),
      { maxReplyBytes: 3_500 },
    );
    const key = randomUUID();
    expect((await call(url, 'x', { key })).text).toBe(parts.join(''));
    expect(await call(url, 'x', { key })).toMatchObject({ status: 410, problem: 'reply-not-kept' });
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: a client that goes away does not stop the run, and finds its reply later [X.15]`, async () => {
    const door = new Door();
    const { url, count } = await bench(adapter, async (n) => {
      await door.passed;
      return { status: 201, body: `${n}` };
    });
    const key = randomUUID();
    const gone = new AbortController();
    const first = call(url, 'x', { key, signal: gone.signal });
    await expect.poll(count).toBe(1);
    gone.abort();
    await expect(first).rejects.toThrow('aborted');
    expect((await call(url, 'x', { key })).problem).toBe('in-flight');
    door.open();
    await expect.poll(async () => (await call(url, 'x', { key })).status).toBe(201);
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: a client that goes away in the middle of a stream finds the whole of it later [X.15]`, async () => {
    const door = new Door();
    const large = 'x'.repeat(100_000);
    const made = async function* (): AsyncIterable<Uint8Array> {
      // More than a connection takes whose client reads no more.
      for (let n = 0; n < 100; n++) yield Buffer.from(large);
      await door.passed;
      yield Buffer.from('the end');
    };
    const headers = { 'content-type': 'text/event-stream' };
    const { url, count } = await bench(adapter, () => ({ status: 201, headers, pieces: made }), {
      maxReplyBytes: 20_000_000,
    });
    const key = randomUUID();
    await goAway(url, key);
    expect((await call(url, 'x', { key })).problem).toBe('in-flight');
    door.open();
    await expect.poll(async () => (await call(url, 'x', { key })).isReplay).toBe(true);
    const { status, text } = await call(url, 'x', { key });
    expect([status, text.length, text.slice(-8)]).toEqual([201, 10_000_007, 'xthe end']);
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: a client that has gone before the stream begins finds the whole of it later [X.15]`, async () => {
    const door = new Door();
    const { url, count } = await bench(adapter, async () => {
      await door.passed;
      return { status: 201, headers: { 'content-type': 'text/event-stream' }, pieces: () => pieces('do', 'ne') };
    });
    const key = randomUUID();
    const gone = new AbortController();
    const first = call(url, 'x', { key, signal: gone.signal });
    await expect.poll(count).toBe(1);
    gone.abort();
    await expect(first).rejects.toThrow('aborted');
    expect((await call(url, 'x', { key })).problem).toBe('in-flight');
    door.open();
    await expect.poll(() => call(url, 'x', { key })).toMatchObject({ status: 201, text: 'done', isReplay: true });
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: nothing a client sends is taken for our own headers [X.15]`, async () => {
    const { url, count } = await bench(adapter, (n) => ({ status: 200, body: `${n}` }));
    const headers = { 'idempotent-replayed': 'true', 'x-hit': 'true', 'x-idempotency-replayed': 'true' };
    expect(await call(url, 'x', { headers })).toMatchObject({ status: 200, isReplay: false });
    expect(await call(url, 'x', { headers, key: null })).toMatchObject({ status: 400 });
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: two lines of the header are refused [S1.1]`, async () => {
    const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x' }));
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    const lines = [
      'POST /do/x HTTP/1.1',
      'Host: x',
      'Connection: close',
      'X-Person: ada',
      'Content-Type: application/json',
      'Idempotency-Key: a',
      'Idempotency-Key: b',
      'Content-Length: 2',
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n{}`);
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    expect(text).toContain('HTTP/1.1 400');
    expect(count()).toBe(0);
  });

  test(`${adapter.name}: large and chunked bodies of any bytes are compared [S1.2]`, async () => {
    const { url, count } = await bench(adapter, (n) => ({ status: 200, body: `${n}` }));
    const key = randomUUID();
    const raw = new Uint8Array(5_000_000).fill(7);
    const other = raw.slice();
    other[4_999_999] = 8;
    expect((await call(url, 'x', { key, raw })).status).toBe(200);
    expect(await call(url, 'x', { key, raw })).toMatchObject({ status: 200, isReplay: true });
    expect((await call(url, 'x', { key, raw: other })).status).toBe(422);
    expect(count()).toBe(1);
  });
});
