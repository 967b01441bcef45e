import { expect } from 'vitest';
import { postgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { needs } from '../support/needs.ts';
import { attempt, openDeliveries, to } from './delivery-database.ts';

const test = needs('postgres');

test('processes that start under the same keys at once start no more than the rates allow, in whatever order they ask [X.8]', async ({
  postgres,
}) => {
  const { database, flowControls } = await openDeliveries(postgres);
  const { pool, schema } = database;
  const keys = ['a', 'b', 'c'];
  for (const key of keys) await flowControls.pin(key, { rate: 7, periodMs: 3_600_000 });
  const processes = Array.from({ length: 4 }, () => postgresDelivery({ pool, schema }).sender);
  const asked = processes.flatMap((sender, at) =>
    Array.from({ length: 5 }, async () => {
      const order = at % 2 === 0 ? keys : keys.toReversed();
      return Promise.all(order.map(async (key) => ({ key, waitMs: (await sender.takeRate(key)).waitMs })));
    }),
  );
  const answers = (await Promise.all(asked)).flat();
  const granted = keys.map((key) => answers.filter((one) => one.key === key && one.waitMs === undefined).length);
  expect(granted).toEqual([7, 7, 7]);
  expect(answers).toHaveLength(60);
});

test('of those who publish under the same deduplication ids at once one is first, and all are told of it [X.8]', async ({
  postgres,
}) => {
  const { database } = await openDeliveries(postgres);
  const { pool, schema } = database;
  const batch = Array.from({ length: 20 }, (_, n) =>
    to('https://a.example/', { queue: 'q', flowKey: undefined }, { deduplication: { id: `${n}` } }),
  );
  const outcomes = await Promise.all(
    Array.from({ length: 4 }, (_, at) =>
      postgresDelivery({ pool, schema }).publishing.publish(at % 2 === 0 ? batch : batch.toReversed()),
    ),
  );
  const messages = outcomes.flat().flatMap((one) => (one.kind === 'published' ? one.messages : []));
  expect(messages.filter(({ isDuplicate }) => !isDuplicate)).toHaveLength(20);
  expect(new Set(messages.map(({ messageId }) => messageId)).size).toBe(20);
  expect(await database.sql(`select count(*)::int as n from $S.delivery`)).toEqual([{ n: 20 }]);
});

test('an attempt that is reported by two at once is written by one, with its callback [X.8]', async ({ postgres }) => {
  const { database, publishOne } = await openDeliveries(postgres);
  const { pool, schema } = database;
  const ids = (await Promise.all([1, 2, 3].map((n) => publishOne(to(`https://a${n}.example/`))))).flat();
  const callbacks = [{ ...to('x', { flowKey: 'f' }), to: { kind: 'url', url: 'https://c.example/' } }] as const;
  const reports = ids.map((id) => Object.assign(attempt(id), { callbacks }));
  await Promise.all(
    Array.from({ length: 6 }, (_, at) =>
      postgresDelivery({ pool, schema }).sender.report(at % 2 === 0 ? reports : reports.toReversed()),
    ),
  );
  expect(await database.sql(`select count(*)::int as n from $S.delivery where key = 'flow:f'`)).toEqual([{ n: 3 }]);
  expect(await database.sql(`select count(*)::int as n from $S.http_event where attempt = 1`)).toEqual([{ n: 3 }]);
});
