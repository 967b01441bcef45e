import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { openDeliveries, to } from './delivery-database.ts';

const test = needs('postgres');

test('what is published is a message of the engine with its line in the log, in one statement [X.8]', async ({
  postgres,
}) => {
  const { database, publishing } = await openDeliveries(postgres);
  const at = new Date(Date.now() + 60_000);
  const outcomes = await publishing.publish([
    to('https://shop.example/orders?a=1', {
      body: '{"n":1}',
      labels: ['a'],
      headers: { 'Content-Type': ['text/plain'] },
    }),
    to('https://shop.example/later', { queue: 'mail' }, { notBefore: at }),
    to('ftp://shop.example/'),
    to('https://shop.example/', { queue: 'mail', flowKey: 'ann' }),
    to('https://shop.example/nul', { body: 'a\u0000b', flowKey: 'ann' }, { flow: { rate: 10, parallelism: 2 } }),
  ]);
  expect(outcomes).toMatchObject([
    { kind: 'published', to: 'url', messages: [{ isDuplicate: false }] },
    { kind: 'published' },
    { kind: 'refused', why: 'destination-refused' },
    { kind: 'refused', why: 'queue-and-flow' },
    { kind: 'published' },
  ]);
  const rows = await database.sql(
    `select d.id, d.key, d.handler, d.state, d.payload, e.state as logged, e.next_at, e.request from $S.delivery d
     join $S.http_event e on e.message_id = d.id and e.attempt = 0 order by d.seq`,
  );
  expect(rows).toMatchObject([
    {
      key: 'to:https://shop.example',
      handler: 1,
      state: 0,
      logged: 0,
      payload: { body: '{"n":1}', labels: ['a'], signedBy: 'server' },
    },
    { key: 'queue:mail', state: 1, next_at: at },
    { key: 'flow:ann', state: 0, payload: { bodyBase64: 'YQBi' } },
  ]);
  expect(rows[0]?.['request']).toEqual({
    url: 'https://shop.example/orders?a=1',
    method: 'POST',
    retries: 3,
    labels: ['a'],
    headers: { 'Content-Type': ['text/plain'] },
    signedBy: 'server',
  });
  expect(await database.sql(`select name, parallelism from $S.http_queue`)).toEqual([{ name: 'mail', parallelism: 1 }]);
  expect(await database.sql(`select key, parallelism, rate, period_ms::int from $S.http_flow`)).toEqual([
    { key: 'ann', parallelism: 2, rate: 10, period_ms: 1000 },
  ]);
});

test('within its time a deduplication id stands for its first message, and content for its first [X.8]', async ({
  postgres,
}) => {
  const { database, publishing } = await openDeliveries(postgres, { dedupMs: 600_000 });
  const url = 'https://shop.example/orders';
  const byId = to(url, { body: 'a' }, { deduplication: { id: 'order-1' } });
  const byContent = (body: string, header = 'x'): ReturnType<typeof to> =>
    to(url, { body, headers: { 'X-A': [header] } }, { deduplication: { content: true } });
  const first = await publishing.publish([byId, byId, byContent('a'), byContent('b'), byContent('a', 'y')]);
  const ids = first.map((one) => (one.kind === 'published' ? one.messages[0] : undefined));
  expect(ids.map((one) => one?.isDuplicate)).toEqual([false, true, false, false, false]);
  expect(ids[1]?.messageId).toBe(ids[0]?.messageId);
  const again = await publishing.publish([byContent('b'), to(url), byId]);
  expect(again).toMatchObject([
    { messages: [{ messageId: ids[3]?.messageId, isDuplicate: true }] },
    { messages: [{ isDuplicate: false }] },
    { messages: [{ messageId: ids[0]?.messageId, isDuplicate: true }] },
  ]);
  expect(await database.sql(`select count(*)::int as n from $S.delivery`)).toEqual([{ n: 5 }]);
  expect(await database.sql(`select count(*)::int as n from $S.http_event`)).toEqual([{ n: 5 }]);
  await database.sql(`update $S.dedup set expires_at = now()`);
  expect(await publishing.publish([byId])).toMatchObject([{ messages: [{ isDuplicate: false }] }]);
});

test('a message to a URL group is one for each of its endpoints, each deduplicated by itself [X.8]', async ({
  postgres,
}) => {
  const { publishing, urlGroups, database } = await openDeliveries(postgres);
  const request = { ...to('x'), to: { kind: 'group', name: 'shops' }, deduplication: { id: '1' } } as const;
  expect(await publishing.publish([request])).toMatchObject([{ kind: 'refused', why: 'group-unknown' }]);
  await urlGroups.addEndpoints('shops', [{ url: 'https://a.example/' }, { name: 'b', url: 'https://b.example/' }]);
  await urlGroups.addEndpoints('shops', [{ name: 'b', url: 'https://c.example/' }]);
  const [outcome] = await publishing.publish([request]);
  expect(outcome).toMatchObject({
    to: 'group',
    messages: [
      { url: 'https://a.example/', isDuplicate: false },
      { url: 'https://c.example/', isDuplicate: false },
    ],
  });
  expect(
    await database.sql(
      `select payload ->> 'group' as "group", payload ->> 'endpointName' as name from $S.delivery order by seq`,
    ),
  ).toEqual([
    { group: 'shops', name: null },
    { group: 'shops', name: 'b' },
  ]);
  expect(await publishing.publish([request])).toMatchObject([
    { messages: [{ isDuplicate: true }, { isDuplicate: true }] },
  ]);
  expect(await urlGroups.removeEndpoints('shops', [{ name: 'b' }])).toBe(true);
  expect((await urlGroups.list()).map(({ endpoints }) => endpoints)).toEqual([[{ url: 'https://a.example/' }]]);
  expect(await urlGroups.removeEndpoints('shops', [{ url: 'https://a.example/' }])).toBe(true);
  expect(await urlGroups.get('shops')).toBeUndefined();
});

test('a full outbox and a body that is too large refuse what is published [X.8]', async ({ postgres }) => {
  const { publishing, database } = await openDeliveries(postgres, {
    maxBodyBytes: 4,
    refuseUrl: (url) => (url.includes('private') ? 'it is private' : undefined),
  });
  const large = to('https://a.example/', { body: 'ééé' });
  expect(await publishing.publish([large, to('https://private.example/')])).toMatchObject([
    { why: 'too-large' },
    { why: 'destination-refused', message: 'it is private' },
  ]);
  await database.sql(`update $S.meta set is_full = true`);
  expect(await publishing.publish([large, to('https://a.example/')])).toMatchObject([
    { why: 'too-large' },
    { why: 'full' },
  ]);
});
