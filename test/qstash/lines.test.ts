import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { type QstashHere, sharedQstash } from './qstash-here.ts';

const test = needs('postgres');
const qstashHere = sharedQstash();

/** A destination that holds what comes until it is let go; `most` is how many it had at once. */
class Holding {
  readonly #held: (() => void)[] = [];
  most = 0;
  #open = false;

  readonly answer = async (): Promise<object> => {
    if (!this.#open) {
      const going = new Promise<void>((resolve) => this.#held.push(resolve));
      this.most = Math.max(this.most, this.#held.length);
      await going;
    }
    return {};
  };

  get held(): number {
    return this.#held.length;
  }

  /** Lets the first go. */
  next(): void {
    this.#held.shift()?.();
  }

  letGo(): void {
    this.#open = true;
    while (this.#held.length > 0) this.next();
  }
}

test('a queue is first in, first out, and one that is tried again keeps its place [X.8]', async ({ postgres }) => {
  const { client, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const queue = client.queue({ queueName: 'fifo' });
  const url = sink.on('/fifo', ({ body }, count) => (body === 'b' && count < 4 ? { status: 500 } : {}));
  for (const body of ['a', 'b', 'c', 'd']) await queue.enqueue({ url, body, retries: 5, retryDelay: '20' });
  await expect
    .poll(() =>
      sink
        .at('/fifo')
        .map(({ body }) => body)
        .join(''),
    )
    .toBe('abbbcd');
  expect(await queue.get()).toMatchObject({ name: 'fifo', parallelism: 1, paused: false });
});

test('a queue is paused and resumed, made wider, listed and deleted [X.8]', async ({ postgres }) => {
  const { client, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const queue = client.queue({ queueName: 'wide' });
  const holding = new Holding();
  const url = sink.on('/wide', holding.answer);
  await queue.upsert({ parallelism: 2, paused: true });
  const { messageId } = await queue.enqueueJSON({ url, body: { n: 0 } });
  for (const n of [1, 2, 3]) await queue.enqueueJSON({ url, body: { n } });
  expect(await queue.get()).toMatchObject({ name: 'wide', parallelism: 2, paused: true, lag: 4 });
  expect(await client.messages.get(messageId)).toMatchObject({ queueName: 'wide' });
  expect(sink.arrivals).toEqual([]);
  await queue.resume();
  await expect.poll(() => holding.held).toBe(2);
  await queue.pause();
  holding.letGo();
  // What stands in a paused queue stays there.
  await expect.poll(async () => (await queue.get()).lag).toBe(2);
  expect(sink.arrivals).toHaveLength(2);
  await queue.resume();
  await expect.poll(() => sink.arrivals).toHaveLength(4);
  expect(holding.most).toBe(2);
  expect((await queue.list()).map(({ name }) => name)).toContain('wide');
  await queue.delete();
  await expect(queue.get()).rejects.toMatchObject({ status: 404 });
  await expect(queue.upsert({ parallelism: 1_000_000 })).rejects.toMatchObject({ status: 412 });
});

test('a URL group sends to each of its endpoints, and they come and go [X.8]', async ({ postgres }) => {
  const { client, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const endpoints = [{ name: 'first', url: `${sink.url}/g1` }, { url: `${sink.url}/g2` }];
  await client.urlGroups.addEndpoints({ name: 'group', endpoints });
  expect(await client.urlGroups.get('group')).toMatchObject({ name: 'group', endpoints });
  const answers = await client.publishJSON({ urlGroup: 'group', body: { n: 1 } });
  expect(answers).toMatchObject(endpoints.map(({ url }) => ({ url, messageId: expect.any(String) as string })));
  await expect.poll(() => sink.arrivals).toHaveLength(2);
  expect(sink.arrivals.every(({ verified }) => verified === true)).toBe(true);
  await client.urlGroups.removeEndpoints({ name: 'group', endpoints: [{ name: 'first' }] });
  expect((await client.urlGroups.list()).find(({ name }) => name === 'group')?.endpoints).toMatchObject([endpoints[1]]);
  await client.urlGroups.delete('group');
  await expect(client.urlGroups.get('group')).rejects.toMatchObject({ status: 404 });
  await expect(client.publish({ urlGroup: 'group' })).rejects.toMatchObject({ status: 404 });
});

test('a flow-control key lets so many go at once, and what it says can be pinned, paused and looked at [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client, openSink } = here;
  const sink = await openSink();
  const holding = new Holding();
  const url = sink.on('/flow', holding.answer);
  const flowControl = { key: 'team/one', parallelism: 2 };
  for (const body of ['1', '2', '3', '4', '5']) await client.publish({ url, body, flowControl });
  await expect.poll(() => holding.held).toBe(2);
  await expect.poll(() => flowOf(here, 'team/one')).toMatchObject({ waitListSize: 3, parallelismMax: 2 });
  await client.flowControl.pin('team/one', { parallelism: 1 });
  expect(await flowOf(here, 'team/one')).toMatchObject({
    parallelismMax: 1,
    isPinnedParallelism: true,
    isPinnedRate: false,
  });
  await client.publish({ url, body: '6', flowControl: { ...flowControl, parallelism: 50 } });
  expect(await flowOf(here, 'team/one')).toMatchObject({ parallelismMax: 1 });
  await client.flowControl.pause('team/one');
  expect(await flowOf(here, 'team/one')).toMatchObject({ isPaused: true });
  holding.letGo();
  await expect.poll(() => flowOf(here, 'team/one')).toMatchObject({ waitListSize: 4 });
  await client.flowControl.unpin('team/one', { parallelism: true });
  await client.flowControl.resume('team/one');
  await expect.poll(() => sink.arrivals).toHaveLength(6);
  expect(holding.most).toBe(2);
  expect(await client.flowControl.getGlobalParallelism()).toEqual({ parallelismMax: 0, parallelismCount: 0 });
});

function flowOf({ client }: QstashHere, key: string): ReturnType<QstashHere['client']['flowControl']['get']> {
  return client.flowControl.get(key);
}

test('a flow-control key lets so many start in a period, and more when the period is begun anew [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client, openSink } = here;
  const sink = await openSink();
  const flowControl = { key: 'rated', rate: 2, period: '1h' as const };
  for (const body of ['1', '2', '3']) await client.publish({ url: `${sink.url}/rated`, body, flowControl });
  await expect.poll(() => sink.arrivals).toHaveLength(2);
  await expect
    .poll(() => flowOf(here, 'rated'))
    .toMatchObject({ rateMax: 2, rateCount: 2, ratePeriod: 3_600, waitListSize: 1 });
  const { ratePeriodStart } = await flowOf(here, 'rated');
  expect(Math.abs(ratePeriodStart - Date.now() / 1_000)).toBeLessThan(600);
  await client.flowControl.resetRate('rated');
  expect(await flowOf(here, 'rated')).toMatchObject({ rateCount: 0 });
  // The one that waits looks again within a minute.
  await client.publish({ url: `${sink.url}/rated`, body: '4', flowControl });
  await expect.poll(() => sink.arrivals.map(({ body }) => body)).toContain('4');
});

test('a queue and a flow-control key together are refused [X.8]', async ({ postgres }) => {
  const { client } = await qstashHere(postgres);
  const both = { url: 'https://example.com', flowControl: { key: 'k', parallelism: 1 } };
  await expect(client.queue({ queueName: 'q' }).enqueue(both)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('not both') as string,
  });
});

test('schedules are made, replaced wholly, paused, resumed, listed and deleted [X.8]', async ({ postgres }) => {
  const { client, url: server, token } = await qstashHere(postgres);
  const first = {
    scheduleId: 'nightly.report',
    destination: 'https://example.com/report?a=1',
    cron: 'CRON_TZ=Europe/Berlin 30 2 * * *',
    body: 'make it',
    headers: { 'X-Kind': 'report' },
    retries: 2,
    delay: 60,
    callback: 'https://example.com/cb',
    label: 'reports',
  };
  expect(await client.schedules.create(first)).toEqual({ scheduleId: 'nightly.report' });
  const shown = await client.schedules.get('nightly.report');
  expect(shown).toMatchObject({
    scheduleId: 'nightly.report',
    cron: first.cron,
    destination: first.destination,
    method: 'POST',
    header: { 'Content-Type': ['application/json'], 'X-Kind': ['report'] },
    body: 'make it',
    retries: 2,
    delay: 60,
    callback: first.callback,
    isPaused: false,
    label: 'reports',
  });
  const next = new Date(shown.nextScheduleTime ?? 0);
  expect(new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' }).format(next)).toBe(
    '02:30',
  );
  await client.schedules.create({
    scheduleId: 'nightly.report',
    destination: 'https://example.com/other',
    cron: '0 0 1 * *',
  });
  const replaced = await client.schedules.get('nightly.report');
  expect(replaced).toMatchObject({ cron: '0 0 1 * *', destination: 'https://example.com/other', retries: 3 });
  expect(replaced).not.toHaveProperty('body');
  await client.schedules.pause({ schedule: 'nightly.report' });
  expect(await client.schedules.get('nightly.report')).toMatchObject({ isPaused: true });
  // As the documentation has it.
  const answer = await fetch(`${server}/v2/schedules/nightly.report/resume`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(200);
  expect((await client.schedules.list()).map(({ scheduleId, isPaused }) => [scheduleId, isPaused])).toEqual([
    ['nightly.report', false],
  ]);
  await client.schedules.delete('nightly.report');
  await expect(client.schedules.get('nightly.report')).rejects.toMatchObject({ status: 404 });
  await expect(client.schedules.create({ ...first, cron: '61 * * * *' })).rejects.toMatchObject({ status: 400 });
  await expect(client.schedules.create({ ...first, scheduleId: 'a b' })).rejects.toMatchObject({ status: 400 });
});

test('what a schedule publishes arrives signed, and says whose it is [X.8]', async ({ postgres }) => {
  const { client, openSink, deliveries } = await qstashHere(postgres);
  const sink = await openSink();
  const { scheduleId } = await client.schedules.create({
    destination: `${sink.url}/due`,
    // Never while the test runs: one that comes by itself would be published too.
    cron: '0 4 1 1 *',
    body: 'now',
  });
  // A time that has come, without waiting for it.
  await deliveries.schedules.fire(new Date(Date.UTC(new Date().getUTCFullYear() + 1, 0, 1, 4, 1)));
  await expect
    .poll(() => sink.at('/due'))
    .toMatchObject([{ body: 'now', verified: true, headers: { 'upstash-schedule-id': scheduleId } }]);
  await expect
    .poll(async () => Object.values((await client.schedules.get(scheduleId)).lastScheduleStates ?? {}))
    .toEqual(['SUCCESS']);
  await client.schedules.delete(scheduleId);
});
