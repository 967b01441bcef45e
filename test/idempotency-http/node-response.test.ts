import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { describe, expect, onTestFinished, test } from 'vitest';
import { idempotent } from '../../src/express/index.ts';
import { idempotency, memoryIdempotency, type RouteOptions } from '../../src/idempotency/index.ts';
import { Door } from './bench-route.ts';
import { type Answered, call, goAway } from './call.ts';

type Limits = Pick<RouteOptions<never>, 'maxReplyBytes' | 'maxRunMs'>;

/** A server whose handler writes the response with Node's own functions. */
async function serve(write: (response: ServerResponse) => void | Promise<void>, options: Limits = {}): Promise<string> {
  const app = express();
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  app.post('/do/x', express.json(), idempotent(idem, { person: 'anyone', ...options }), (_request, response) => {
    void write(response);
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What a first request gets, and what a repetition gets. */
async function answered(write: (response: ServerResponse) => void, options?: Limits): Promise<Answered[]> {
  const url = await serve(write, options);
  const key = randomUUID();
  return [await call(url, 'x', { key }), await call(url, 'x', { key })];
}

const HEADS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'an object': (response) => response.writeHead(201, { 'x-own': 'a', link: ['b', 'c'] }),
  'a message and an object': (response) => response.writeHead(201, 'Made', { 'x-own': 'a', link: ['b', 'c'] }),
  'names and values in turn': (response) => response.writeHead(201, ['x-own', 'a', 'link', 'b', 'link', 'c']),
  pairs: (response) =>
    response.writeHead(201, [
      ['x-own', 'a'],
      ['link', ['b', 'c']],
    ] as unknown as string[]),
  'headers that were set': (response) => {
    response.statusCode = 201;
    response.setHeader('x-own', 'a').appendHeader('link', 'b').appendHeader('link', 'c');
  },
};

describe.each(Object.entries(HEADS))('a head that is written as %s', (name, head) => {
  test.each([
    ['at once', (response: ServerResponse) => void response.end('done')],
    [
      'in pieces of any encoding',
      (response: ServerResponse) => {
        response.write('ZG8=', 'base64');
        response.write(Buffer.from('n'));
        response.end('65', 'hex');
      },
    ],
  ])(`Express: a head written as ${name} and a body %s are sent, and sent again [S1.1]`, async (_how, body) => {
    const replies = await answered((response) => {
      head(response);
      body(response);
    });
    expect(
      replies.map(({ status, text, headers, isReplay }) => [
        status,
        text,
        headers.get('x-own'),
        headers.get('link'),
        isReplay,
      ]),
    ).toEqual([
      [201, 'done', 'a', 'b, c', false],
      [201, 'done', 'a', 'b, c', true],
    ]);
  });
});

test('Express: a response that was ended looks ended at once, takes nothing more, and calls back when it is sent [X.15]', async () => {
  let seen: unknown;
  let isCalled = false;
  const replies = await answered((response) => {
    response.end('done', () => (isCalled = true));
    seen = [response.writableEnded, response.headersSent];
    response.write('more');
    response.writeHead(500);
    response.end('more');
  });
  expect(replies).toMatchObject([
    { status: 200, text: 'done', isReplay: false },
    { status: 200, text: 'done', isReplay: true },
  ]);
  expect([seen, isCalled]).toEqual([[true, true], true]);
});

test('Express: a reply in pieces that grows too large to be kept is sent whole [X.15]', async () => {
  const [first, second] = await answered(
    (response) => {
      for (const letter of 'abcdef') response.write(letter.repeat(1_000));
      response.end('the end');
    },
    { maxReplyBytes: 3_500 },
  );
  expect([first?.text.length, first?.text.slice(-9)]).toEqual([6_007, 'ffthe end']);
  expect(second).toMatchObject({ status: 410, problem: 'reply-not-kept' });
});

test('Express: a client that goes away in the middle of a reply finds the whole of it later [X.15]', async () => {
  const door = new Door();
  const url = await serve(async (response) => {
    response.writeHead(201, { 'content-type': 'text/plain' }).write('do');
    await door.passed;
    response.end('ne');
  });
  const key = randomUUID();
  await goAway(url, key);
  expect((await call(url, 'x', { key })).problem).toBe('in-flight');
  door.open();
  await expect.poll(() => call(url, 'x', { key })).toMatchObject({ status: 201, text: 'done', isReplay: true });
});

test('Express: what goes on without a client is told that it has gone when the run has ended, or has lost its claim [X.15]', async () => {
  const closed: string[] = [];
  const door = new Door();
  const ended = await serve(async (response) => {
    response.on('close', () => closed.push('ended')).write('a');
    await door.passed;
    response.end('b');
  });
  const endless = await serve(
    (response) => {
      response.on('close', () => closed.push('endless')).write('a');
    },
    { maxRunMs: 1_000 },
  );
  const key = randomUUID();
  await goAway(ended, key);
  await goAway(endless, key);
  await expect.poll(() => closed).toEqual(['endless']);
  door.open();
  await expect.poll(() => closed).toEqual(['endless', 'ended']);
  expect(await call(ended, 'x', { key })).toMatchObject({ text: 'ab', isReplay: true });
});
