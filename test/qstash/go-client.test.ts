import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { goClient } from './foreign-client.ts';
import { sharedQstash } from './qstash-here.ts';

const test = needs('postgres', 'qstashGo');
const qstashHere = sharedQstash();

interface Published {
  readonly messageId: string;
}
const LATER = { url: 'https://example.com/later', delay: '1h' };

test('what the Go client publishes, batches and enqueues arrives, and its receiver takes the signatures [X.8]', async ({
  postgres,
  qstashGo,
}) => {
  const here = await qstashHere(postgres);
  const sink = await here.openSink();
  const go = await goClient(qstashGo, here);
  const at = (path: string): { url: string } => ({ url: `${sink.url}${path}` });
  const text = { ...at('/text'), body: 'wörld', method: 'PUT', headers: { 'X-Mine': 'yes' }, retries: 1 };
  const { messageId } = (await go.call('Publish', text)) as Published;
  await go.call('PublishJSON', { ...at('/json'), body: { a: [1, null] } });
  await go.call('Enqueue', { ...at('/queued'), queue: 'go', body: 'q' });
  // It writes "queue": "" and "body": "" where nothing was given.
  const batch = [at('/none'), { ...at('/body'), body: 'b' }, { ...at('/both'), body: 'c', queue: 'go' }];
  expect(await go.call('Batch', batch)).toEqual(batch.map(() => [{ messageId: expect.any(String) as string }]));
  await go.call('BatchJSON', [{ ...at('/batch-json'), body: { b: 'ü' } }]);
  await expect.poll(() => sink.arrivals).toHaveLength(7);
  expect(Object.fromEntries(sink.arrivals.map(({ path, body }) => [path, body]))).toEqual({
    '/text': 'wörld',
    '/json': '{"a":[1,null]}',
    '/queued': 'q',
    '/none': '',
    '/body': 'b',
    '/both': 'c',
    '/batch-json': '{"b":"ü"}',
  });
  expect(sink.at('/text')).toMatchObject([{ method: 'PUT', headers: { 'x-mine': 'yes' } }]);
  for (const { path, body, headers } of sink.arrivals) {
    const verify = { signature: headers['upstash-signature'], body, url: `${sink.url}${path}` };
    await go.call('Receiver.Verify', verify);
    await expect(go.call('Receiver.Verify', { ...verify, body: `${body}x` })).rejects.toThrow('validate signature');
  }
  expect(await go.call('Messages.Get', messageId)).toMatchObject({ messageId, body: 'wörld', maxRetries: 1 });
});

test('the Go client cancels the messages it names and no others, and finds them in the log by several values [X.8]', async ({
  postgres,
  qstashGo,
}) => {
  const here = await qstashHere(postgres);
  const go = await goClient(qstashGo, here);
  const ids: string[] = [];
  for (const path of ['/go-1', '/go-2', '/go-3'])
    ids.push(((await go.call('Publish', { ...LATER, url: `https://example.com${path}` })) as Published).messageId);
  expect(await go.call('Messages.CancelMany', ids.slice(0, 2))).toBe(2);
  expect(await go.call('Messages.CancelMany', [])).toBe(0);
  const list = async (filter: object): Promise<readonly string[]> => {
    const [events] = (await go.call('Events.List', { filter })) as [readonly Published[], string];
    return events.map((one) => one.messageId).toSorted();
  };
  const both = 'https://example.com/go-1,https://example.com/go-3';
  expect(await list({ url: both, state: 'CREATED' })).toEqual([ids[0], ids[2]].map(String).toSorted());
  expect(await list({ url: both, state: 'CANCELED' })).toEqual([ids[0]]);
  await go.call('Messages.Cancel', ids[2]);
  await expect(go.call('Messages.CancelAll')).rejects.toThrow('no filter was given');
});

test('the Go client deletes the dead messages it names, and makes, pauses and deletes schedules and queues [X.8]', async ({
  postgres,
  qstashGo,
}) => {
  const here = await qstashHere(postgres);
  const sink = await here.openSink();
  const go = await goClient(qstashGo, here);
  const url = sink.on('/go-dies', () => ({ status: 400 }));
  for (let n = 0; n < 3; n++) await go.call('Publish', { url, retries: 0 });
  const dead = async (): Promise<readonly string[]> => {
    const filter = { url, responseStatus: 400 };
    const [messages] = (await go.call('Dlq.List', { filter })) as [readonly { dlqId: string }[], string];
    return messages.map(({ dlqId }) => dlqId);
  };
  await expect.poll(dead).toHaveLength(3);
  const [first, second, third] = await dead();
  expect(await go.call('Dlq.DeleteMany', [first, second])).toBe(2);
  expect(await dead()).toEqual([third]);
  expect(await go.call('Dlq.Get', third)).toMatchObject({ responseStatus: 400 });

  const schedule = { destination: LATER.url, cron: '0 0 1 1 *', body: 's', retries: 2 };
  const id = (await go.call('Schedules.Create', schedule)) as string;
  await go.call('Schedules.Pause', id);
  const shown = { ...schedule, scheduleId: id, isPaused: true };
  expect(await go.call('Schedules.Get', id)).toMatchObject(shown);
  expect(await go.call('Schedules.List')).toMatchObject([shown]);
  await go.call('Schedules.Delete', id);
  expect(await go.call('Schedules.List')).toEqual([]);

  await go.call('Queues.Upsert', { queueName: 'go-own', parallelism: 3, paused: true });
  expect(await go.call('Queues.Get', 'go-own')).toMatchObject({ parallelism: 3, paused: true, lag: 0 });
});
