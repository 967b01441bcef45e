import { expect } from 'vitest';
import type { DeliveryState } from '../../src/delivery/delivery-log.ts';
import { forgetDestinations, forgetLog } from '../../src/postgres/delivery/forget-old.ts';
import { sqlRunner } from '../../src/postgres/sql-runner.ts';
import { needs } from '../support/needs.ts';
import { attempt, openDeliveries, to } from './delivery-database.ts';

const test = needs('postgres');

test('an attempt is told as what it began and ended with, in pages that may end within it [X.8]', async ({
  postgres,
}) => {
  const { log, publishOne, sender } = await openDeliveries(postgres);
  const [id = ''] = await publishOne(to('https://a.example/', { labels: ['l'], body: 'text' }));
  const [other = ''] = await publishOne(to('https://b.example/', { body: 'x'.repeat(70_000) }));
  const now = Date.now();
  const at = (seconds: number): Date => new Date(now + seconds * 1_000);
  await sender.report([
    attempt(id, {
      state: 'ERROR',
      startedAt: at(1),
      endedAt: at(2),
      nextAt: at(9),
      responseStatus: 503,
      error: 'away',
      responseBody: Buffer.from([255]),
    }),
    attempt(id, { attempt: 2, state: 'DELIVERED', startedAt: at(3), endedAt: at(5), responseStatus: 200 }),
    attempt(other, { state: 'FAILED', startedAt: at(4), endedAt: at(6), error: 'no answer' }),
  ]);
  const all = await log.list({}, { limit: 100 });
  expect(all.next).toBeUndefined();
  expect(all.items.map(({ messageId, state }) => `${state} ${messageId === id ? 'a' : 'b'}`)).toEqual([
    'FAILED b',
    'ACTIVE b',
    'DELIVERED a',
    'ACTIVE a',
    'RETRY a',
    'ERROR a',
    'ACTIVE a',
    'CREATED b',
    'CREATED a',
  ]);
  expect(all.items[4]).toMatchObject({
    at: at(2),
    nextAt: at(9),
    attempt: 1,
    durationMs: 1_000,
    responseStatus: 503,
    error: 'away',
    responseBody: new Uint8Array([255]),
  });
  expect(all.items[4]?.request).toMatchObject({ url: 'https://a.example/', body: 'text' });
  expect(all.items[0]?.request.body).toBeUndefined();
  const paged: (typeof all.items)[number][] = [];
  for (let cursor: string | undefined; ;) {
    const page = await log.list({}, { limit: 2, cursor });
    paged.push(...page.items);
    cursor = page.next;
    if (cursor === undefined) break;
  }
  expect(paged).toEqual(all.items);
  const states = async (selection: Parameters<typeof log.list>[0]): Promise<readonly DeliveryState[]> =>
    (await log.list(selection, { limit: 100 })).items.map(({ state }) => state);
  expect(await states({ states: ['ACTIVE', 'RETRY'] })).toEqual(['ACTIVE', 'ACTIVE', 'RETRY', 'ACTIVE']);
  expect(await states({ labels: ['l'], states: ['CREATED', 'DELIVERED'] })).toEqual(['DELIVERED', 'CREATED']);
  expect(await states({ messageIds: [other] })).toEqual(['FAILED', 'ACTIVE', 'CREATED']);
  expect(await states({ host: 'b.example', from: at(5.5), to: at(7) })).toEqual(['FAILED', 'ACTIVE']);
  expect(await states({ states: ['CANCEL_REQUESTED'] })).toEqual([]);
});

test('a log without a line is an empty page, with a filter and without [X.8]', async ({ postgres }) => {
  const { log } = await openDeliveries(postgres);
  expect(await log.list({}, { limit: 10 })).toEqual({ items: [], next: undefined });
  expect(await log.list({ queue: 'none' }, { limit: 10 })).toEqual({ items: [], next: undefined });
});

test('a page is not empty as long as something fits, however many lines, messages or dead ones lie before it [X.8]', async ({
  postgres,
}) => {
  const { log, messages, dead, publishOne, database } = await openDeliveries(postgres);
  const [rare = ''] = await publishOne(to('https://rare.example/', { queue: 'rare' }));
  await database.sql(`update $S.http_event set at = now() - interval '1 day'`);
  const idOf = `(lpad(to_hex(1990000000000 + n), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid`;
  const request = `'{"url":"https://other.example/","headers":{}}'::jsonb`;
  await database.sql(`insert into $S.http_event (message_id, cycle, attempt, state, at, request)
    select ${idOf}, 0, 0, 0, now() - n * interval '1 millisecond', ${request} from generate_series(1, 20500) n`);
  const found = await log.list({ queue: 'rare' }, { limit: 5 });
  expect(found.items.map(({ messageId, state }) => [messageId, state])).toEqual([[rare, 'CREATED']]);
  expect(found.next).toBeUndefined();
  expect(await log.list({ queue: 'none' }, { limit: 5 })).toEqual({ items: [], next: undefined });
  await database.sql(`insert into $S.delivery (id, handler, unit, state, failed_at, error, type, key, payload, source)
    select ${idOf}, 1, 32, 2, now() - n * interval '1 millisecond', '{}'::jsonb, 'http.delivery', 'to:other', ${request}, 'delivery'
    from generate_series(1, 20500) n`);
  expect((await messages.list({ queue: 'rare' }, { limit: 5 })).items).toMatchObject([{ messageId: rare }]);
  await database.sql(`update $S.delivery set state = 2, unit = 32, failed_at = now() - interval '1 day', error = '{}', due_at = null
    where id = '${rare}'`);
  expect((await dead.list({ queue: 'rare' }, { limit: 5 })).items).toMatchObject([{ messageId: rare }]);
  expect(await dead.replay({ queue: 'rare' }, { limit: 5 })).toMatchObject({ messageIds: [rare] });
  await database.sql(`update $S.delivery set state = 2, unit = 32, failed_at = now() - interval '1 day', error = '{}', due_at = null
    where id = '${rare}'`);
  expect(await dead.discard({ queue: 'rare' }, { limit: 5 })).toMatchObject({ count: 1 });
});

test('old lines of the log are forgotten, a thousand in a statement, and tell what they can until then [X.8]', async ({
  postgres,
}) => {
  const { log, publishOne, sender, database } = await openDeliveries(postgres);
  const [id = ''] = await publishOne(to('https://a.example/', { body: 'text' }));
  await sender.report([attempt(id)]);
  await database.sql(`delete from $S.delivery`);
  const { items } = await log.list({ host: 'a.example' }, { limit: 10 });
  expect(items.map(({ state, request }) => [state, request.url, request.body])).toEqual([
    ['DELIVERED', 'https://a.example/', undefined],
    ['ACTIVE', 'https://a.example/', undefined],
    ['CREATED', 'https://a.example/', undefined],
  ]);
  await database.sql(
    `insert into $S.http_event (message_id, cycle, attempt, state, at) select gen_random_uuid(), 0, 1, 1, now() - interval '15 days' from generate_series(1, 2500)`,
  );
  const sql = sqlRunner(database.pool);
  const schema = `"${database.schema}"`;
  expect(await forgetLog(sql, schema, 14 * 86_400_000)).toBe(2_500);
  expect(await forgetLog(sql, schema, 14 * 86_400_000)).toBe(0);
  expect(await database.sql(`select count(*)::int as n from $S.http_event`)).toEqual([{ n: 2 }]);
  await database.sql(`insert into $S.http_destination (destination, state, last_attempt_at) values
    ('https://old.example', 0, now() - interval '15 days'), ('https://away.example', 2, now() - interval '15 days')`);
  await forgetDestinations(sql, schema, 14 * 86_400_000);
  const kept = await database.sql(`select destination from $S.http_destination order by 1`);
  expect(kept.map(({ destination }) => destination)).toEqual(['https://away.example', 'https://shop.example']);
});
