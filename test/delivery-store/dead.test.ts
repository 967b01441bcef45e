import { expect } from 'vitest';
import type { DeadSelection } from '../../src/delivery/dead-deliveries.ts';
import { needs } from '../support/needs.ts';
import { attempt, type DeliveryDatabase, openDeliveries, to } from './delivery-database.ts';

const test = needs('postgres');

/** Publishes, and has failed: so many seconds ago, with this status. */
async function bury(store: DeliveryDatabase, name: string, status: number, secondsAgo: number): Promise<string> {
  const [id = ''] = await store.publishOne(
    to(`https://${name}.example/`, { labels: [name], body: 'b', hidden: { body: true } }),
  );
  await store.sender.report([
    attempt(id, { state: 'ERROR', responseStatus: 500 }),
    attempt(id, {
      attempt: 2,
      state: 'FAILED',
      responseStatus: status,
      responseHeaders: { 'X-A': ['1'] },
      responseBody: Buffer.from(`nö ${name}`),
      error: 'refused',
    }),
  ]);
  await store.database.sql(
    `update $S.delivery set state = 2, attempts = 2, error = '{"message":"HTTP"}', first_failed_at = now(), failed_at = now() - $2 * interval '1 second' where id = $1`,
    [id, secondsAgo],
  );
  return id;
}

test('dead deliveries are listed with the last answer, in pages, and selected by it too [X.8]', async ({
  postgres,
}) => {
  const store = await openDeliveries(postgres);
  const { dead } = store;
  const ids = [
    await bury(store, 'a', 404, 3_000),
    await bury(store, 'b', 500, 2_000),
    await bury(store, 'c', 404, 1_000),
  ];
  await store.publishOne(to('https://a.example/'));
  const list = async (selection: DeadSelection): Promise<readonly number[]> =>
    (await dead.list(selection, { limit: 10 })).items.map(({ messageId }) => ids.indexOf(messageId));
  expect(await list({})).toEqual([2, 1, 0]);
  expect(await list({ responseStatus: 404 })).toEqual([2, 0]);
  expect(await list({ labels: ['b'] })).toEqual([1]);
  expect(await list({ from: new Date(Date.now() - 2_500_000) })).toEqual([2, 1]);
  expect(await list({ to: new Date(Date.now() - 2_500_000) })).toEqual([0]);
  expect(await list({ messageIds: [ids[0] ?? ''] })).toEqual([0]);
  expect(await list({ dlqIds: [`${ids[1]}-0`, `${ids[0]}-1`, 'nonsense'] })).toEqual([1]);
  const first = await dead.list({}, { limit: 2 });
  expect(first.items).toHaveLength(2);
  const second = await dead.list({}, { limit: 2, cursor: first.next });
  expect(second).toMatchObject({ items: [{ messageId: ids[0] }], next: undefined });
  expect(await dead.get(`${ids[0]}-0`)).toMatchObject({
    dlqId: `${ids[0]}-0`,
    state: 'failed',
    attempts: 2,
    failedAt: expect.any(Date),
    responseStatus: 404,
    responseHeaders: { 'X-A': ['1'] },
    responseBody: 'nö a',
    error: 'refused',
    request: { body: '[redacted by sender]' },
  });
  expect(await dead.get(`${ids[0]}-1`)).toBeUndefined();
  expect(await dead.get('nonsense')).toBeUndefined();
  await expect(dead.list({}, { limit: 1, cursor: 'x' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
});

test('a dead delivery is put back in line under its id, with what was hidden and with other rules [X.8]', async ({
  postgres,
}) => {
  const store = await openDeliveries(postgres);
  const { dead, messages, database } = store;
  const ids = [
    await bury(store, 'a', 404, 3_000),
    await bury(store, 'b', 500, 2_000),
    await bury(store, 'c', 404, 1_000),
  ];
  const replayed = await dead.replay({}, { limit: 2 });
  expect(replayed.messageIds).toEqual([ids[2], ids[1]]);
  expect(replayed.next).toBeTypeOf('string');
  expect(await database.rows(ids[2] ?? '')).toMatchObject([
    { state: 1, cycle: 1, version: 0, payload: { body: 'b', retries: 3 } },
  ]);
  const rest = await dead.replay({}, { limit: 2, cursor: replayed.next }, { retries: 7, timeoutMs: 5 });
  expect(rest).toEqual({ messageIds: [ids[0]], next: undefined });
  expect(await database.rows(ids[0] ?? '')).toMatchObject([
    { state: 1, cycle: 1, version: 1, payload: { body: 'b', retries: 7, timeoutMs: 5, method: 'POST' } },
  ]);
  expect(await messages.get(ids[0] ?? '')).toMatchObject({ state: 'waiting', request: { retries: 7 } });
  expect(await dead.replay({}, { limit: 2 })).toEqual({ messageIds: [], next: undefined });
});

test('dead deliveries are discarded by what selects them, and are not there any more [X.8]', async ({ postgres }) => {
  const store = await openDeliveries(postgres);
  const { dead, messages } = store;
  const ids = [
    await bury(store, 'a', 404, 3_000),
    await bury(store, 'b', 500, 2_000),
    await bury(store, 'c', 404, 1_000),
  ];
  expect(await dead.discard({ dlqIds: [`${ids[1]}-0`] }, { limit: 1 })).toEqual({ count: 1, next: undefined });
  expect(await dead.discard({ dlqIds: [`${ids[1]}-0`] }, { limit: 1 })).toEqual({ count: 0, next: undefined });
  const { count, next } = await dead.discard({ responseStatus: 404 }, { limit: 1 });
  expect([count, await dead.discard({ responseStatus: 404 }, { limit: 1, cursor: next })]).toEqual([
    1,
    { count: 1, next: undefined },
  ]);
  expect((await dead.list({}, { limit: 9 })).items).toEqual([]);
  expect(await messages.get(ids[0] ?? '')).toMatchObject({ state: 'failed' });
});
