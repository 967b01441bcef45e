import { gzipSync } from 'node:zlib';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { answerOf, type HttpRequest, serviceClient } from '../../src/http/index.ts';
import { closing, type LocalService, sendJson, startService, startSocketService } from './local-service.ts';

const READ: HttpRequest = { operation: 'read', path: '/' };

function failureOf(service: LocalService, request: HttpRequest, maxBodyBytes = 1_000): Promise<unknown> {
  const client = serviceClient({ baseUrl: service.url, maxBodyBytes });
  return client.request(request).then(
    () => 'a good answer',
    (error: unknown) => error,
  );
}

describe('typed JSON', () => {
  test('what a zod schema makes of the body is the data, and its type [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, { id: 7, at: '2026-01-02' }));
    const schema = z.object({ id: z.number(), at: z.string().transform((text) => new Date(text)) });
    const { data } = await serviceClient({ baseUrl: service.url }).request({ operation: 'read', path: '/', schema });
    expectTypeOf(data).toEqualTypeOf<{ id: number; at: Date }>();
    expect(data).toEqual({ id: 7, at: new Date('2026-01-02') });
  });

  test('what a valibot schema makes of the body is the data, and its type [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, { names: ['a'] }));
    const names = v.pipeAsync(
      v.array(v.string()),
      v.checkAsync(async (list) => list.length > 0),
    );
    const schema = v.objectAsync({ names });
    const { data } = await serviceClient({ baseUrl: service.url }).request({ operation: 'read', path: '/', schema });
    expectTypeOf(data).toEqualTypeOf<{ names: string[] }>();
    expect(data).toEqual({ names: ['a'] });
  });

  test('without a schema the type is unknown, as text it is a string [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, 'ä'));
    const client = serviceClient({ baseUrl: service.url });
    const { data } = await client.request({ operation: 'read', path: '/' });
    expectTypeOf(data).toEqualTypeOf<unknown>();
    expect(data).toBe('ä');
    const { data: text } = await client.request({ operation: 'read', path: '/', read: 'text' });
    expectTypeOf(text).toEqualTypeOf<string>();
    expect(text).toBe('"ä"');
  });

  test.each([
    ['zod', z.object({ user: z.object({ email: z.number() }), id: z.string() })],
    ['valibot', v.object({ user: v.object({ email: v.number() }), id: v.string() })],
  ])(
    'an answer the %s schema refuses is asked for once; the error names places, not values [S0.2] [S0.5]',
    async (_, schema) => {
      await using service = await startService((_request, response) =>
        sendJson(response, 200, { user: { email: 'pat@example.org' }, id: 4711 }),
      );
      const error = await failureOf(service, { ...READ, schema });
      expect(error).toMatchObject({
        code: 'HTTP_BODY_INVALID',
        details: { operation: 'read', status: 200, problem: 'the schema refuses user.email, id' },
      });
      expect(String(error)).not.toMatch(/pat@|4711/);
      expect(String(error)).toMatch(/answerOf\(error\)\.issues/);
      expect(answerOf(error)?.issues).toHaveLength(2);
      expect(service.seen).toHaveLength(1);
    },
  );
});

describe('bodies that are not what was asked for', () => {
  const cases: readonly (readonly [string, { type?: string; body: string | Buffer }, string])[] = [
    ['text that is not JSON', { body: '{"id": sk-12', type: 'application/json' }, 'its 12 bytes are not JSON'],
    ['a page', { body: '<html>', type: 'text/html; charset=utf-8' }, 'its content-type is text/html, not JSON'],
    ['bytes that are not text', { body: Buffer.from([0xff, 0xfe, 0x22]) }, 'its 3 bytes are not UTF-8 text'],
  ];

  test.each(cases)('%s is refused by name and asked for once [S0.2] [S0.5]', async (_, { type, body }, problem) => {
    await using service = await startService((_request, response) => {
      response.writeHead(200, type === undefined ? {} : { 'content-type': type });
      response.end(body);
    });
    expect(await failureOf(service, READ)).toMatchObject({ code: 'HTTP_BODY_INVALID', details: { problem } });
    expect(service.seen).toHaveLength(1);
  });

  test('says from where it came, under which request id, and how to read text [S0.5]', async () => {
    await using service = await startService((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html>');
    });
    const request = { operation: 'read', path: '/page', query: { q: 'hidden' }, requestId: 'r1' };
    const details = { operation: 'read', url: `${service.url}/page`, status: 200, requestId: 'r1', reason: 'not-json' };
    for (const schema of [undefined, z.object({})]) {
      const error = await failureOf(service, { ...request, schema });
      expect(error).toMatchObject({ code: 'HTTP_BODY_INVALID', details });
      expect(String(error)).toBe(
        `HoldfastError: the answer to "read" (${service.url}/page, status 200) is not what was asked for: its content-type is ` +
          "text/html, not JSON; see that the address is right, or write read: 'text' if text is expected; " +
          'answerOf(error).text has its start; the request id was r1',
      );
    }
    expect((await serviceClient({ baseUrl: service.url }).request({ ...request, read: 'text' })).data).toBe('<html>');
  });

  test('says what to look at when it is no text, is empty, or makes the schema throw [S0.5]', async () => {
    await using service = await startService((request, response) => {
      response.writeHead(200);
      response.end(request.url === '/bytes' ? Buffer.from([0xff]) : request.url === '/empty' ? '' : '{}');
    });
    const schema = z.object({}).transform((): never => {
      throw new Error('broken');
    });
    const failure = (path: string): Promise<unknown> => failureOf(service, { operation: 'read', path, schema });
    expect(await failure('/bytes')).toMatchObject({
      details: { reason: 'not-text' },
      message: expect.stringMatching(/this client reads JSON and UTF-8 text/) as string,
    });
    expect(await failure('/empty')).toMatchObject({
      details: { reason: 'refused', problem: 'it is empty' },
      message: expect.stringMatching(/answerOf\(error\)\.issues/) as string,
    });
    expect(await failure('/throws')).toMatchObject({
      details: { reason: 'schema-threw' },
      message: expect.stringMatching(/error\.cause is what it threw/) as string,
    });
  });

  test.each(['application/problem+json', 'APPLICATION/JSON;charset=UTF-8', ''])(
    'JSON called %j is read [S0.5]',
    async (type) => {
      await using service = await startService((_, response) =>
        sendJson(response, 200, { ok: 1 }, { 'content-type': type }),
      );
      expect(await serviceClient({ baseUrl: service.url }).request(READ)).toMatchObject({ data: { ok: 1 } });
    },
  );

  test('204, an empty 200 and HEAD give undefined, which a schema may refuse [S0.5]', async () => {
    await using service = await startService((request, response) => {
      response.writeHead(request.url === '/204' ? 204 : 200, { 'content-type': 'application/json' });
      response.end();
    });
    const client = serviceClient({ baseUrl: service.url });
    for (const request of [{ path: '/204' }, { path: '/empty' }, { path: '/', method: 'HEAD' as const }]) {
      expect((await client.request({ operation: 'read', ...request })).data).toBeUndefined();
    }
    const missing = { code: 'HTTP_BODY_INVALID', details: { problem: 'it is empty' } };
    expect(await failureOf(service, { ...READ, schema: z.object({}) })).toMatchObject(missing);
    expect((await client.request({ ...READ, schema: z.undefined() })).data).toBeUndefined();
  });
});

describe('bodies that are too large', () => {
  const limit = { code: 'HTTP_BODY_TOO_LARGE', details: { operation: 'read', limitBytes: 1_000 } };

  test('an announced length above the limit is refused before a byte of it is read [S0.5]', async () => {
    await using service = await startSocketService((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1001\r\n\r\n');
    });
    expect(await failureOf(service, READ)).toMatchObject(limit);
    await closing(service.seen[0]?.socket);
    expect(service.seen).toHaveLength(1);
  });

  test('an endless body without a length is refused at the limit, and its connection is closed [S0.5]', async () => {
    await using service = await startService((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => void (response.destroyed || response.write(' '.repeat(500), more));
      more();
    });
    expect(await failureOf(service, READ)).toMatchObject(limit);
    await closing(service.seen[0]?.socket);
    expect(service.seen).toHaveLength(1);
  });

  test('a small answer that unpacks into a large one is refused at the limit [S0.5]', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, 0x20));
    await using service = await startService((_, response) => {
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'content-length': bomb.length,
      });
      response.end(bomb);
    });
    const before = process.memoryUsage().arrayBuffers;
    expect(await failureOf(service, READ, 100_000)).toMatchObject({ code: 'HTTP_BODY_TOO_LARGE' });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(25_000_000);
    expect(service.seen).toHaveLength(1);
  });

  test('a body of exactly the limit is read [S0.5]', async () => {
    const text = JSON.stringify('x'.repeat(998));
    await using service = await startService((_, response) => sendJson(response, 200, JSON.parse(text)));
    const client = serviceClient({ baseUrl: service.url, maxBodyBytes: 1_000 });
    expect((await client.request(READ)).data).toBe('x'.repeat(998));
  });

  test('of a failed answer no more than 16,384 characters are kept [S0.5]', async () => {
    await using service = await startService((_, response) => {
      response.writeHead(400);
      response.end('é'.repeat(200_000));
    });
    expect(answerOf(await failureOf(service, READ))?.text).toBe('é'.repeat(16_384));
  });

  test('HEAD of something large is no large answer [S0.5]', async () => {
    await using service = await startService((_, response) => {
      response.writeHead(200, { 'content-length': 50_000_000 });
      response.end();
    });
    const client = serviceClient({ baseUrl: service.url, maxBodyBytes: 1_000 });
    const { status, headers, data } = await client.request({ ...READ, method: 'HEAD' });
    expect([status, headers.get('content-length'), data]).toEqual([200, '50000000', undefined]);
  });
});
