import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { type QstashHere, qstashHere } from './qstash-here.ts';
import type { Sink } from './sink.ts';

const test = needs('postgres');

const FINAL = { status: 489, headers: { 'Upstash-NonRetryable-Error': 'true' }, body: 'never' };

/** Publishes one that fails for good at once; answers its id in the list of dead ones. */
async function die({ client }: QstashHere, sink: Sink, path: string, label: string): Promise<string> {
  const url = sink.on(path, () => FINAL);
  const { messageId } = await client.publish({ url, body: path, label });
  const find = async (): Promise<string | undefined> =>
    (await client.dlq.listMessages({ filter: { messageId } })).messages[0]?.dlqId;
  await expect.poll(find).toBeDefined();
  return (await find()) ?? '';
}

test('a failure is tried again as the message says, each attempt signed anew and counted, and told in the log [X.8]', async ({
  postgres,
}) => {
  const { client, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const url = sink.on('/flaky', (_arrival, count) => (count < 3 ? { status: 500, body: 'broken' } : { body: 'fine' }));
  const { messageId } = await client.publish({
    url,
    body: 'try',
    retries: 4,
    retryDelay: '10 * (1 + retried)',
    label: 'flaky',
  });
  await expect.poll(() => sink.at('/flaky')).toHaveLength(3);
  expect(sink.at('/flaky').map(({ headers, verified }) => [headers['upstash-retried'], verified])).toEqual([
    ['0', true],
    ['1', true],
    ['2', true],
  ]);
  expect(new Set(sink.at('/flaky').map(({ headers }) => headers['upstash-message-id']))).toEqual(new Set([messageId]));
  expect(new Set(sink.at('/flaky').map(({ headers }) => headers['upstash-signature'])).size).toBe(3);
  const states = async (): Promise<string[]> =>
    (await client.logs({ filter: { messageId } })).logs.map(({ state }) => state).toReversed();
  await expect
    .poll(states)
    .toEqual(['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'DELIVERED']);
  const { logs } = await client.logs({ filter: { messageId, state: 'ERROR' } });
  expect(logs).toMatchObject([
    {
      url,
      responseStatus: 500,
      responseBody: Buffer.from('broken').toString('base64'),
      body: Buffer.from('try').toString('base64'),
    },
    { url, labels: ['flaky'] },
  ]);
});

test('a destination says when to come back, in seconds, by a date or as a duration, and that beats what the message says [X.8]', async ({
  postgres,
}) => {
  const { client, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const hints = ['0', new Date(Date.now() - 1_000).toUTCString(), '10ms'];
  for (const [i, hint] of hints.entries()) {
    const url = sink.on(`/later${i}`, (_arrival, count) =>
      count === 1 ? { status: 503, headers: { 'retry-after': hint } } : {},
    );
    await client.publish({ url, retries: 1, retryDelay: '3600000' });
  }
  for (const i of hints.keys()) await expect.poll(() => sink.at(`/later${i}`)).toHaveLength(2);
});

test('489 ends a message at once; the callback hears of every attempt and the failure callback of the end [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client, openSink } = here;
  const sink = await openSink();
  const url = sink.on('/job', (_arrival, count) => (count === 1 ? { status: 500, body: 'once' } : FINAL));
  const { messageId } = await client.publishJSON({
    url,
    body: { n: 1 },
    retries: 5,
    retryDelay: '10',
    callback: `${sink.url}/callback`,
    failureCallback: `${sink.url}/failed`,
    headers: { 'Upstash-Callback-Forward-X-Back': 'b', 'Upstash-Failure-Callback-Method': 'PUT' },
  });
  await expect.poll(() => [sink.at('/callback').length, sink.at('/failed').length]).toEqual([2, 1]);
  expect(sink.at('/job')).toHaveLength(2);
  const bodies = sink.at('/callback').map(({ body }) => JSON.parse(body) as { retried: number });
  expect(bodies.toSorted((a, b) => a.retried - b.retried)).toMatchObject([
    {
      status: 500,
      retried: 0,
      maxRetries: 5,
      sourceMessageId: messageId,
      url,
      body: Buffer.from('once').toString('base64'),
    },
    { status: 489, retried: 1, sourceBody: Buffer.from('{"n":1}').toString('base64'), method: 'POST' },
  ]);
  expect(sink.at('/callback')[0]).toMatchObject({ headers: { 'x-back': 'b' }, verified: true });
  const [failed] = sink.at('/failed');
  expect(failed).toMatchObject({ method: 'PUT', verified: true });
  const told = JSON.parse(failed?.body ?? '{}') as { dlqId: string };
  expect(told).toMatchObject({ status: 489, sourceMessageId: messageId, createdAt: expect.any(Number) as number });
  const { messages } = await client.dlq.listMessages({ dlqIds: [told.dlqId] });
  expect(messages).toMatchObject([
    { messageId, dlqId: told.dlqId, responseStatus: 489, responseBody: 'never', url, body: '{"n":1}' },
  ]);
  await client.dlq.delete(told.dlqId);
});

test('dead messages are listed, filtered, paged, deleted and tried again: one, many, all [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client, openSink } = here;
  const sink = await openSink();
  const ids = [];
  for (const path of ['/d1', '/d2', '/d3', '/d4', '/d5'])
    ids.push(await die(here, sink, path, path === '/d1' ? 'odd' : 'even'));
  const [first = '', second = '', third = '', fourth = ''] = ids;
  expect((await client.dlq.listMessages()).messages.map(({ dlqId }) => dlqId)).toEqual(ids.toReversed());
  expect((await client.dlq.listMessages({ filter: { label: 'odd' } })).messages).toMatchObject([{ dlqId: first }]);
  expect((await client.dlq.listMessages({ filter: { url: `${sink.url}/d2` } })).messages).toMatchObject([
    { dlqId: second },
  ]);
  expect((await client.dlq.listMessages({ filter: { responseStatus: 500 } })).messages).toEqual([]);
  const page = await client.dlq.listMessages({ count: 2 });
  const rest = await client.dlq.listMessages({ count: 10, cursor: page.cursor ?? '' });
  expect([...page.messages, ...rest.messages].map(({ dlqId }) => dlqId)).toEqual(ids.toReversed());
  expect(rest.cursor).toBeUndefined();

  await client.dlq.delete(first);
  await expect(client.dlq.delete(first)).rejects.toMatchObject({ status: 404 });
  expect(await client.dlq.delete([second])).toMatchObject({ deleted: 1 });

  for (const path of ['/d3', '/d4', '/d5']) sink.on(path, () => ({}));
  const { responses } = await client.dlq.retry(third);
  expect(responses).toEqual([{ messageId: third.replace(/-\d+$/, '') }]);
  expect((await client.dlq.retry([fourth])).responses).toHaveLength(1);
  expect((await client.dlq.retry({ all: true })).responses).toHaveLength(1);
  for (const path of ['/d3', '/d4', '/d5']) await expect.poll(() => sink.at(path)).toHaveLength(2);
  expect(sink.at('/d3').map(({ headers }) => headers['upstash-message-id'])).toEqual(
    Array(2).fill(responses[0]?.messageId),
  );
  expect((await client.dlq.listMessages()).messages).toEqual([]);
  expect(await client.dlq.delete({ all: true })).toMatchObject({ deleted: 0 });
});

test('receivers that know both keys notice no rotation, with messages on their way [X.8]', async ({ postgres }) => {
  const { client, openSink, url: server, token } = await qstashHere(postgres);
  const sink = await openSink();
  const headers = { authorization: `Bearer ${token}` };
  const before = (await (await fetch(`${server}/v2/keys`, { headers })).json()) as { next: string };
  const url = sink.on('/turn', (_arrival, count) => (count === 1 ? { status: 503 } : {}));
  await client.publish({ url, retries: 1, retryDelay: '1500' });
  await expect.poll(() => sink.at('/turn')).toHaveLength(1);
  const rotated = await fetch(`${server}/v2/keys/rotate`, { method: 'POST', headers });
  expect(await rotated.json()).toMatchObject({ current: before.next, next: expect.stringMatching(/^sig_/) as string });
  await expect.poll(() => sink.at('/turn')).toHaveLength(2);
  expect(sink.at('/turn').map(({ verified }) => verified)).toEqual([true, true]);
});

test('messages that wait are cancelled: one, many, by what they have in common, all [X.8]', async ({ postgres }) => {
  const { client, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const publish = async (path: string, label: string): Promise<string> =>
    (await client.publish({ url: `${sink.url}${path}`, delay: 3_600, label })).messageId;
  const ids = await Promise.all(['/1', '/2', '/3'].map((path) => publish(path, 'plain')));
  await Promise.all([publish('/4', 'marked'), publish('/5', 'marked'), publish('/6', 'plain'), publish('/7', 'plain')]);
  const [one = '', two = '', three = ''] = ids;
  expect(await client.messages.cancel(one)).toEqual({ cancelled: 1 });
  await expect(client.messages.cancel(one)).rejects.toMatchObject({ status: 404 });
  expect(await client.messages.cancel([one, two, three])).toEqual({ cancelled: 2 });
  expect(await client.messages.cancel({ filter: { label: 'marked' } })).toEqual({ cancelled: 2 });
  const urls = [`${sink.url}/6`, `${sink.url}/nothing`];
  expect(await client.messages.cancel({ filter: { url: urls } })).toEqual({ cancelled: 1 });
  expect(await client.messages.cancel({ all: true })).toEqual({ cancelled: 1 });
  const { logs } = await client.logs({ filter: { messageId: two, state: 'CANCELED' } });
  expect(logs).toMatchObject([{ messageId: two, state: 'CANCELED' }]);
  expect(sink.arrivals).toEqual([]);
});

test('the log is filtered and paged, and read by both of its names [X.8]', async ({ postgres }) => {
  const { client, openSink, url: server, token } = await qstashHere(postgres);
  const sink = await openSink();
  const from = Date.now();
  for (const path of ['/l1', '/l2', '/l3']) await client.publish({ url: `${sink.url}${path}`, label: 'logged' });
  const delivered = async (): Promise<number> =>
    (await client.logs({ filter: { label: 'logged', state: 'DELIVERED' } })).logs.length;
  await expect.poll(delivered).toBe(3);
  const all = (await client.logs({ filter: { label: 'logged' } })).logs;
  expect(all).toHaveLength(9);
  const paged = [];
  let cursor: string | undefined;
  do {
    const page = await client.logs({ count: 4, cursor: cursor ?? '', filter: { label: 'logged' } });
    paged.push(...page.logs);
    cursor = page.cursor;
  } while (cursor !== undefined);
  expect(paged).toEqual(all);
  const { host } = new URL(sink.url);
  expect((await client.logs({ filter: { host, path: '/l2' } })).logs.map(({ url }) => url)).toEqual(
    Array(3).fill(`${sink.url}/l2`),
  );
  expect((await client.logs({ filter: { label: 'logged', toDate: from - 1_000 } })).logs).toEqual([]);
  const answer = await fetch(`${server}/v2/logs?label=logged&state=IN_PROGRESS`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { logs } = (await answer.json()) as { logs: { state: string }[] };
  expect(logs.map(({ state }) => state)).toEqual(['ACTIVE', 'ACTIVE', 'ACTIVE']);
});
