import { type OutgoingHttpHeaders, request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { findStaticFile } from '../../examples/agent-chat/static-files.ts';
import { type Chat, startChat } from './chat.ts';
import { connect } from './raw-client.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

async function answerTo(
  chat: Chat,
  path: string,
  init: RequestInit = {},
): Promise<{ status: number; message: string }> {
  const response = await fetch(chat.url + path, init);
  const body = (await response.json()) as { error?: { message: string } };
  return { status: response.status, message: body.error?.message ?? '' };
}

describe('what a client sends wrongly is refused with what to do instead', () => {
  test.each([
    ['no JSON type', { body: '{}' }, 415, /content-type: application\/json/],
    ['no JSON', { body: '{', headers: JSON_TYPE }, 400, /not valid JSON/],
    ['JSON that is no object', { body: '7', headers: JSON_TYPE }, 400, /conversationId/],
    ['no conversation', { body: '{"text":"x"}', headers: JSON_TYPE }, 400, /conversationId/],
    [
      'a path as conversation',
      { body: '{"conversationId":"../x","text":"x"}', headers: JSON_TYPE },
      400,
      /conversationId/,
    ],
    ['blank text', { body: '{"conversationId":"c","text":"  "}', headers: JSON_TYPE }, 400, /text/],
    ['a number as text', { body: '{"conversationId":"c","text":1}', headers: JSON_TYPE }, 400, /text/],
    [
      'too long a text',
      { body: JSON.stringify({ conversationId: 'c', text: 'x'.repeat(8_001) }), headers: JSON_TYPE },
      400,
      /8000/,
    ],
    ['too many bytes', { body: JSON.stringify({ text: 'x'.repeat(70_000) }), headers: JSON_TYPE }, 413, /65536/],
  ])('a question with %s', async (_, init, status, message) => {
    const chat = await startChat([5]);
    const answer = await answerTo(chat, '/turns', { method: 'POST', ...init });
    expect(answer).toEqual({ status, message: expect.stringMatching(message) });
    expect(chat.provider.requests).toHaveLength(0);
  });

  test.each([
    ['{"failures":-1}', /failures/],
    ['{"failures":1.5}', /failures/],
    ['{"failures":null}', /failures/],
    ['{"fault":"fire"}', /overloaded, cut/],
    ['{"message":7}', /message/],
    ['{"speed":0}', /speed/],
  ])('the provider controls %s', async (body, message) => {
    const chat = await startChat([5]);
    const before = chat.provider.plan;
    expect(await answerTo(chat, '/provider', { method: 'PUT', body, headers: JSON_TYPE })).toEqual({
      status: 400,
      message: expect.stringMatching(message),
    });
    expect(chat.provider.plan).toEqual(before);
  });

  test.each([
    ['not JSON at all', 'hello'],
    ['a message of no known type', '{"type":"constructor"}'],
    ['a second join', '{"type":"join","conversationId":"other"}'],
    ['a question without text', '{"type":"ask"}'],
    ['cancelling what is not there', '{"type":"cancel","turnId":"t"}'],
  ])('over the socket, %s', async (_, text) => {
    const chat = await startChat([5]);
    const client = await connect('ws', chat);
    client.sendRaw?.(text);
    expect(await client.next('refused')).toMatchObject({ message: expect.any(String) });
  });
});

describe('the chat server', () => {
  test('answers unknown paths with 404 and wrong methods with 405', async () => {
    const chat = await startChat([5]);
    expect(await answerTo(chat, '/nothing')).toMatchObject({ status: 404 });
    expect(await answerTo(chat, '/turns/none')).toMatchObject({ status: 404 });
    expect(
      await answerTo(chat, '/turns/none/cancel', { method: 'POST', headers: JSON_TYPE, body: '{}' }),
    ).toMatchObject({
      status: 404,
    });
    expect(await answerTo(chat, '/provider', { method: 'POST' })).toMatchObject({ status: 405 });
    expect((await fetch(`${chat.url}/turns`)).headers.get('allow')).toBe('POST');
  });

  test.each([
    '/../package.json',
    '/holdfast/../../package.json',
    '/holdfast/..%2f..%2fpackage.json',
    '/server.ts',
    '/tsconfig.json',
  ])('serves nothing outside its page and the package: %s', async (path) => {
    const chat = await startChat([5]);
    expect(await statusOfRawPath(chat, path)).toBe(404);
  });

  test.each(['//', 'http://', 'http://['])('answers the request target %s with 400', async (path) => {
    const chat = await startChat([5]);
    expect(await statusOfRawPath(chat, path)).toBe(400);
  });

  test.each(['evil.example', 'localhost.evil.example:80', '127.0.0.1.evil.example', 'evil@localhost'])(
    'does not answer to the name "%s", which another site may have made lead here',
    async (host) => {
      const chat = await startChat([5]);
      expect(await statusOfRawPath(chat, '/provider', { host })).toBe(421);
      const socket = new WebSocket(`${chat.url.replace('http', 'ws')}/socket`, { headers: { host } });
      const refused = await new Promise((resolve) => socket.once('error', resolve));
      expect(String(refused)).toContain('421');
    },
  );

  test.each(['localhost', 'LOCALHOST:1', '127.0.0.1:3000', '[::1]:3000'])('answers to the name %s', async (host) => {
    const chat = await startChat([5]);
    expect(await statusOfRawPath(chat, '/provider', { host })).toBe(200);
  });

  test('tells the requests of one conversation apart from all others', async () => {
    const chat = await startChat([5]);
    const client = await connect('ws', chat);
    client.ask('hello');
    await client.next('turn-end');
    const seen = async (query: string): Promise<unknown[]> =>
      ((await (await fetch(`${chat.url}/provider${query}`)).json()) as { requests: unknown[] }).requests;
    expect(await seen(`?conversation=${chat.conversationId}`)).toHaveLength(2);
    expect(await seen('?conversation=other')).toEqual([]);
    expect(await seen('')).toHaveLength(2);
  });

  test('serves nothing outside its page and the package, even if a path with dots came through', async () => {
    expect(await findStaticFile('/chat.js')).toBeDefined();
    expect(await findStaticFile('/../page/chat.js')).toBeDefined();
    expect(await findStaticFile('/../../../dist/index.js')).toBeUndefined();
    expect(await findStaticFile('/holdfast/../examples/agent-chat/page/chat.js')).toBeUndefined();
  });

  test('lets its page load nothing from elsewhere and run nothing inline [S2.5]', async () => {
    const chat = await startChat([5]);
    const response = await fetch(chat.url);
    expect(response.status).toBe(200);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'self' 'sha256-[\w+/=]+'/);
    expect(policy).toContain("style-src 'self'");
    expect(policy).not.toMatch(/unsafe|\*/);
  });

  test('does not let the page of another site open its socket', async () => {
    const chat = await startChat([5]);
    const socket = new WebSocket(`${chat.url.replace('http', 'ws')}/socket`, { origin: 'https://elsewhere.example' });
    const refused = await new Promise((resolve) => socket.once('error', resolve));
    expect(String(refused)).toContain('403');
  });
});

/** Asks for the path as it is written: fetch would tidy it up first. */
function statusOfRawPath(chat: Chat, path: string, headers: OutgoingHttpHeaders = {}): Promise<number | undefined> {
  const { hostname, port } = new URL(chat.url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}
