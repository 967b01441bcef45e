import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { pythonClient } from './foreign-client.ts';
import { sharedQstash } from './qstash-here.ts';

const test = needs('postgres', 'qstashPython');
const qstashHere = sharedQstash();

interface Published {
  readonly message_id: string;
}
interface Log {
  readonly message_id: string;
  readonly url: string;
}
const LATER = { url: 'https://example.com/later', delay: 3_600 };

test('what the Python client publishes, batches and enqueues arrives, and its receiver takes the signatures [X.8]', async ({
  postgres,
  qstashPython,
}) => {
  const here = await qstashHere(postgres);
  const sink = await here.openSink();
  const python = await pythonClient(qstashPython, here);
  const at = (path: string): { url: string } => ({ url: `${sink.url}${path}` });
  const text = { ...at('/text'), body: 'wörld', method: 'PUT', headers: { 'X-Mine': 'yes' }, retries: 1 };
  const { message_id: id } = (await python.call('message.publish', text)) as Published;
  await python.call('message.publish_json', { ...at('/json'), body: { a: [1, null] } });
  await python.call('message.enqueue', { ...at('/queued'), queue: 'python', body: 'q' });
  // It writes "queue": null and "body": null where nothing was given.
  const messages = [at('/none'), { ...at('/body'), body: 'b' }, { ...at('/both'), body: 'c', queue: 'python' }];
  const batch = await python.call('message.batch', { messages });
  expect(batch).toMatchObject(messages.map(() => ({ message_id: expect.any(String) as string, deduplicated: false })));
  await python.call('message.batch_json', { messages: [{ ...at('/batch-json'), body: { b: 'ü' } }] });
  await expect.poll(() => sink.arrivals).toHaveLength(7);
  expect(Object.fromEntries(sink.arrivals.map(({ path, body }) => [path, body]))).toEqual({
    '/text': 'wörld',
    '/json': '{"a": [1, null]}',
    '/queued': 'q',
    '/none': '',
    '/body': 'b',
    '/both': 'c',
    '/batch-json': '{"b": "\\u00fc"}',
  });
  expect(sink.at('/text')).toMatchObject([{ method: 'PUT', headers: { 'x-mine': 'yes', 'upstash-message-id': id } }]);
  for (const { path, body, headers } of sink.arrivals) {
    const verify = { signature: headers['upstash-signature'], body, url: `${sink.url}${path}` };
    await python.call('receiver.verify', verify);
    await expect(python.call('receiver.verify', { ...verify, body: `${body}x` })).rejects.toThrow('SignatureError');
  }
  expect(await python.call('message.get', { message_id: id })).toMatchObject({ body: 'wörld', max_retries: 1 });
});

test('the Python client cancels the messages it names and no others, and finds them in the log by several values [X.8]', async ({
  postgres,
  qstashPython,
}) => {
  const here = await qstashHere(postgres);
  const python = await pythonClient(qstashPython, here);
  const ids: string[] = [];
  for (const label of ['python-a', 'python-a', 'python-b', 'python-c'])
    ids.push(((await python.call('message.publish', { ...LATER, label })) as Published).message_id);
  expect(await python.call('message.cancel_many', { message_ids: ids.slice(0, 2) })).toBe(2);
  expect(await python.call('message.cancel_many', { message_ids: [] })).toBe(0);
  const list = async (filter: object): Promise<readonly string[]> => {
    const { logs } = (await python.call('log.list', { filter })) as { logs: readonly Log[] };
    return logs.map((log) => log.message_id).toSorted();
  };
  expect(await list({ message_ids: ids, state: 'CANCELED' })).toEqual(ids.slice(0, 2).toSorted());
  expect(await list({ label: 'python-a,python-c', state: 'CREATED' })).toEqual(
    [ids[0], ids[1], ids[3]].map(String).toSorted(),
  );
  expect(await list({ url: [LATER.url, 'https://example.com/other'], label: 'python-b' })).toEqual([ids[2]]);
  // The client has no filters for what is cancelled, but a request that carries them.
  const cancel = { path: '/v2/messages', method: 'DELETE' };
  const params = { label: ['python-b', 'python-c'], count: 1 };
  expect(await python.call('http.request', { ...cancel, params })).toEqual({ cancelled: 1 });
  await python.call('message.cancel', { message_id: ids[2] });
  expect(await list({ label: 'python-b,python-c', state: 'CANCELED' })).toEqual(ids.slice(2).toSorted());
  await expect(python.call('message.cancel_all', {})).rejects.toThrow('no filter was given');
});

test('the Python client deletes the dead messages it names, and makes, pauses and deletes schedules and queues [X.8]', async ({
  postgres,
  qstashPython,
}) => {
  const here = await qstashHere(postgres);
  const sink = await here.openSink();
  const python = await pythonClient(qstashPython, here);
  const url = sink.on('/dies', () => ({ status: 400 }));
  for (let n = 0; n < 3; n++) await python.call('message.publish', { url, retries: 0, label: 'python-dies' });
  const dead = async (): Promise<readonly string[]> => {
    const filter = { label: 'python-dies', response_status: 400 };
    const { messages } = (await python.call('dlq.list', { filter })) as { messages: readonly { dlq_id: string }[] };
    return messages.map(({ dlq_id: id }) => id);
  };
  await expect.poll(dead).toHaveLength(3);
  const [first, second, third] = await dead();
  expect(await python.call('dlq.delete_many', { dlq_ids: [first, second] })).toBe(2);
  expect(await dead()).toEqual([third]);
  expect(await python.call('dlq.get', { dlq_id: third })).toMatchObject({ response_status: 400 });

  const schedule = { destination: LATER.url, cron: '0 0 1 1 *', body: 's', retries: 2, label: 'yearly' };
  const id = await python.call('schedule.create', schedule);
  await python.call('schedule.pause', { schedule_id: id });
  const shown = { ...schedule, schedule_id: id, paused: true };
  expect(await python.call('schedule.get', { schedule_id: id })).toMatchObject(shown);
  expect(await python.call('schedule.list', {})).toMatchObject([shown]);
  await python.call('schedule.delete', { schedule_id: id });
  expect(await python.call('schedule.list', {})).toEqual([]);

  await python.call('queue.upsert', { queue: 'python-own', parallelism: 3, paused: true });
  expect(await python.call('queue.get', { queue: 'python-own' })).toMatchObject({
    parallelism: 3,
    paused: true,
    lag: 0,
  });
});
