import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { type QstashHere, sharedQstash } from './qstash-here.ts';
import type { Sink } from './sink.ts';

const test = needs('postgres');
const qstashHere = sharedQstash();

/** Publishes messages that nothing delivers before they are cancelled; returns their ids. */
async function publishLater({ client }: QstashHere, label: string, paths: readonly string[]): Promise<string[]> {
  const answers = await client.batch(
    paths.map((path) => ({ url: `https://example.com${path}`, body: path, delay: 3_600, label })),
  );
  return (answers as { messageId: string }[]).map(({ messageId }) => messageId);
}

/** Publishes messages that fail permanently at their first attempt; returns their ids in the list of dead messages. */
async function die({ client }: QstashHere, sink: Sink, label: string, statuses: readonly number[]): Promise<string[]> {
  for (const [i, status] of statuses.entries()) {
    const url = sink.on(`/${label}${i}`, () => ({ status }));
    await client.publish({ url, label, retries: 0 });
  }
  const list = async (): Promise<string[]> =>
    (await client.dlq.listMessages({ filter: { label } })).messages
      .toSorted((a, b) => a.url.localeCompare(b.url))
      .map(({ dlqId }) => dlqId);
  await expect.poll(list).toHaveLength(statuses.length);
  return list();
}

/** A request as clients in other languages, and older ones, send it: the status and the JSON of the response. */
async function ask(
  { url, token }: QstashHere,
  method: string,
  path: string,
  body?: unknown,
): Promise<readonly [status: number, value: unknown]> {
  const response = await fetch(`${url}/v2/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return [response.status, await response.json()];
}

test('cancel takes no more than count, the newest first; the count that the client writes itself means all [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client } = here;
  const paths = Array.from({ length: 130 }, (_, n) => `/${n}`);
  const ids = await publishLater(here, 'counted', paths);
  expect(await client.messages.cancel({ filter: { label: 'counted' }, count: 1 })).toEqual({ cancelled: 1 });
  expect(await client.messages.cancel({ all: true, count: 2 })).toEqual({ cancelled: 2 });
  const { logs } = await client.logs({ filter: { label: 'counted', state: 'CANCELED' } });
  expect(logs.map(({ messageId }) => messageId).toSorted()).toEqual(ids.toSorted().slice(-3));
  const urls = paths.slice(0, 10).map((path) => `https://example.com${path}`);
  // Over all values of a filter together.
  expect(await client.messages.cancel({ filter: { url: urls }, count: 4 })).toEqual({ cancelled: 4 });
  expect(await client.messages.cancel({ filter: { label: 'counted' } })).toEqual({ cancelled: 123 });
});

test('deleting and retrying dead messages take no more than count, and the cursor leads to the rest [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client } = here;
  const sink = await here.openSink();
  await die(here, sink, 'dead-counted', [400, 400, 400, 400]);
  const filter = { label: 'dead-counted' };
  const first = await client.dlq.delete({ filter, count: 1 });
  expect(first).toMatchObject({ deleted: 1, cursor: expect.any(String) as string });
  expect(await client.dlq.delete({ filter, count: 1, cursor: first.cursor ?? '' })).toMatchObject({ deleted: 1 });
  expect((await client.dlq.listMessages({ filter })).messages).toHaveLength(2);
  for (const i of [0, 1]) sink.on(`/dead-counted${i}`, () => ({}));
  expect((await client.dlq.retry({ filter, count: 1 })).responses).toHaveLength(1);
  expect((await client.dlq.retry({ all: true, count: 1 })).responses).toHaveLength(1);
  await expect.poll(() => [0, 1].map((i) => sink.at(`/dead-counted${i}`).length)).toEqual([2, 2]);
});

test('ids in the body of a request are those that are meant, and an empty list means none [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client } = here;
  const sink = await here.openSink();
  const [one = '', two = '', three = ''] = await publishLater(here, 'by-body', ['/1', '/2', '/3']);
  expect(await ask(here, 'DELETE', 'messages', { messageIds: [] })).toEqual([200, { cancelled: 0 }]);
  expect(await ask(here, 'DELETE', 'messages', { messageIds: [one, two] })).toEqual([200, { cancelled: 2 }]);
  expect(await ask(here, 'DELETE', 'messages', { label: 'by-body', count: 5 })).toEqual([200, { cancelled: 1 }]);
  expect((await client.logs({ messageIds: [three] })).logs.map(({ state }) => state)).toContain('CANCELED');
  // A field that is not understood would select more than was meant; so would no field at all.
  for (const body of [{ labels: 'by-body' }, {}, undefined, [one], 'text', { messageIds: one, label: { a: 1 } }])
    expect((await ask(here, 'DELETE', 'messages', body))[0], JSON.stringify(body)).toBe(400);
  const [first = '', second = '', third = ''] = await die(here, sink, 'dead-by-body', [400, 400, 400]);
  expect(await ask(here, 'DELETE', 'dlq', { dlqIds: [] })).toEqual([200, { deleted: 0 }]);
  expect(await ask(here, 'DELETE', 'dlq', { dlqIds: [first] })).toEqual([200, { deleted: 1 }]);
  sink.on('/dead-by-body1', () => ({}));
  expect(await ask(here, 'POST', 'dlq/retry', { dlqIds: [second] })).toEqual([
    201,
    { responses: [{ messageId: second.replace(/-\d+$/, '') }] },
  ]);
  await expect.poll(() => sink.at('/dead-by-body1')).toHaveLength(2);
  const { messages } = await client.dlq.listMessages({ filter: { label: 'dead-by-body' } });
  expect(messages.map(({ dlqId }) => dlqId)).toEqual([third]);
  expect((await ask(here, 'DELETE', 'dlq'))[0]).toBe(400);
});

test('lists take several values of each filter, repeated or with commas between them, and match any of them [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client } = here;
  const sink = await here.openSink();
  await die(here, sink, 'several', [400, 404, 500, 400]);
  const url = (n: number): string => `${sink.url}/several${n}`;
  const dead = async (filter: object): Promise<string[]> =>
    (await client.dlq.listMessages({ filter })).messages.map((one) => one.url).toSorted();
  expect(await dead({ url: [url(0), url(2)] })).toEqual([url(0), url(2)]);
  expect(await dead({ url: `${url(1)},${url(3)}` })).toEqual([url(1), url(3)]);
  expect(await dead({ url: [url(0), url(1), url(2)], responseStatus: [404, 500] })).toEqual([url(1), url(2)]);
  expect(await dead({ label: 'several', responseStatus: '400,500' })).toEqual([url(0), url(2), url(3)]);
  const logged = async (filter: object): Promise<string[]> => {
    const { logs } = await client.logs({ filter: { ...filter, state: 'FAILED' } });
    return logs.map((one) => one.url).toSorted();
  };
  const { host } = new URL(sink.url);
  expect(await logged({ url: [url(0), url(2)] })).toEqual([url(0), url(2)]);
  expect(await logged({ host: [host, 'other.example'], path: ['/several1', '/several3'] })).toEqual([url(1), url(3)]);
  expect(await logged({ host: `other.example,${host}`, path: '/several0,/several1' })).toEqual([url(0), url(1)]);
  const queued = ['https://example.com/a,b', 'https://example.com/c'];
  for (const [n, address] of queued.entries())
    await client.queue({ queueName: `several-${n}` }).enqueue({ url: address, headers: { 'Upstash-Delay': '1h' } });
  const created = async (filter: object): Promise<string[]> =>
    (await client.logs({ filter: { ...filter, state: 'CREATED' } })).logs.map((one) => one.url).toSorted();
  expect(await created({ queueName: 'several-0,several-1' })).toEqual(queued);
  expect(await created({ queueName: ['several-0', 'several-1'], url: queued[0] })).toEqual([queued[0]]);
  expect(await client.messages.cancel({ filter: { queueName: ['several-0', 'several-1'] } })).toEqual({ cancelled: 2 });
});
