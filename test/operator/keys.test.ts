import { expect, onTestFinished } from 'vitest';
import { event, type Holdfast, holdfast, TerminalHandlerError } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import { own } from '../postgres/support/worker.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { ANN, OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');
const orderPlaced = event<{ n: number }>('order.placed', { key: () => 'k' });
const WAYS = ['block', 'park', 'pass'] as const;

/** A handler for each way of going on after a dead letter; the messages with these numbers fail. Ended numbers by handler. */
async function openShop(server: TestServer, poison: readonly number[], numbers: readonly number[]) {
  const database = await OperatorDatabase.open(server);
  const { pool, schema, operator } = database;
  const hf = holdfast({ service: 'shop', store: postgres({ pool, schema }) }) as unknown as Holdfast<never>;
  const done: Record<string, number[]> = { block: [], park: [], pass: [] };
  for (const onDead of WAYS) {
    const handle = ({ n }: { n: number }): void => {
      if (poison.includes(n)) throw new TerminalHandlerError('poison');
      done[onDead]?.push(n);
    };
    hf.on(orderPlaced, onDead, handle, { onDead });
  }
  const running = await hf.start({ pollMs: 20 });
  onTestFinished(() => running.stop());
  const client = await pool.connect();
  const ids: string[] = [];
  try {
    await client.query('begin');
    for (const n of numbers) ids.push((await hf.send(client as never, orderPlaced, { n })).id);
    await client.query('commit');
  } finally {
    client.release();
  }
  const failed = async (): Promise<unknown> =>
    (await operator.stats()).handlers.map((one) => [one.handler, one.failed]);
  return { operator, done, failed, ids };
}

test('a released key goes on past what failed, parked ones first and in order, and the dead letter stays [X.4]', async ({
  postgres: server,
}) => {
  const { operator, done, failed } = await openShop(server, [1], [1, 2, 3, 4]);
  await expect.poll(failed, { interval: 20 }).toEqual([
    ['block', 1],
    ['park', 4],
    ['pass', 1],
  ]);
  await expect.poll(() => done, { interval: 20 }).toEqual({ block: [], park: [], pass: [2, 3, 4] });
  const answers = [];
  for (const way of WAYS) answers.push(await operator.releaseKey(way, 'k', ANN));
  expect(answers).toEqual([3, 3, 0].map((count) => ({ kind: 'released', count })));
  await expect.poll(() => done, { interval: 20 }).toEqual({ block: [2, 3, 4], park: [2, 3, 4], pass: [2, 3, 4] });
  await expect.poll(failed, { interval: 20 }).toEqual([
    ['block', 1],
    ['park', 1],
    ['pass', 1],
  ]);
  await expect.poll(async () => (await operator.heldKeys()).items, { interval: 20 }).toEqual([]);
  expect(await operator.releaseKey('block', 'k', ANN)).toEqual({ kind: 'released', count: 0 });
  expect(await operator.releaseKey('nobody', 'k', ANN)).toMatchObject({ kind: 'unknown-handler' });
  const audit = (await operator.audit({ verb: 'release' })).items;
  expect(audit.map(({ handler, details }) => [handler, details['key'], details['count']])).toEqual([
    ['park', 'k', 3],
    ['block', 'k', 3],
  ]);
});

test('a skipped head is given up with its reason, and what waits behind it goes on up to the next that fails [X.4]', async ({
  postgres: server,
}) => {
  const { operator, done, failed, ids } = await openShop(server, [1, 3], [1, 2, 3, 4]);
  await expect.poll(failed, { interval: 20 }).toEqual([
    ['block', 1],
    ['park', 4],
    ['pass', 2],
  ]);
  for (const way of WAYS) {
    expect(await operator.skipKey(way, 'k', ANN)).toEqual({ kind: 'skipped', messageId: ids[0] });
  }
  await expect.poll(failed, { interval: 20 }).toEqual([
    ['block', 1],
    ['park', 1],
    ['pass', 1],
  ]);
  for (const way of WAYS) {
    expect(await operator.skipKey(way, 'k', ANN)).toEqual({ kind: 'skipped', messageId: ids[2] });
  }
  await expect.poll(() => done, { interval: 20 }).toEqual({ block: [2, 4], park: [2, 4], pass: [2, 4] });
  expect(await operator.skipKey('block', 'k', ANN)).toEqual({ kind: 'nothing-failed' });
  await expect(operator.skipKey('block', 'k', { actor: 'ann' } as never)).rejects.toThrow('reason');
  const { items } = await operator.audit({ verb: 'skip', handler: 'park' });
  expect(items.map(({ messageId, reason }) => [messageId, reason])).toEqual([
    [ids[2], ANN.reason],
    [ids[0], ANN.reason],
  ]);
  expect((await operator.deadLetters({ status: 'discarded' })).items).toHaveLength(6);
});

test('what a worker sets aside in the moment its key is released is not set aside, for nobody would release it again [X.4]', async ({
  postgres: server,
}) => {
  const database = await OperatorDatabase.open(server);
  const worker = await own(postgres({ pool: database.pool, schema: database.schema }));
  const [handler] = await database.sql<{ id: number }>(`select id from $S.handler`);
  const row = { handler: handler?.id ?? 0, type: 'thing.done', key: 'k' };
  await database.dead({ ...row, holds: true });
  const held = [await database.delivery(row), await database.delivery(row)];
  const [first, second] = (await worker.read()).ready;
  if (first === undefined || second === undefined) throw new Error('nothing was read');
  const [dead] = await database.sql<{ seq: string }>(`select seq from $S.delivery where state = 2`);
  const behind = Number(dead?.seq);
  const park = async (delivery: typeof first): Promise<number> => {
    const error = { name: 'Parked', code: 'PARKED', kind: 'parked', message: 'set aside' };
    const aside = { ...worker.target(delivery), kind: 'dead', attempts: 0, error, holds: true, behind } as const;
    return (await worker.session.settle(worker.id, [aside])).settled.size;
  };
  expect(await park(first)).toBe(1);
  const operator = await database.connect();
  await operator.query('begin');
  const { rows } = await operator.query('select operator_release_key($1, $2, $3, $4) as n', [
    row.handler,
    'k',
    'ann',
    null,
  ]);
  expect(rows).toEqual([{ n: 2 }]);
  const parking = park(second);
  await database.waitingForLocks(1);
  await operator.query('commit');
  expect(await parking).toBe(0);
  const states = await Promise.all(held.map(async (id) => (await database.rows(id))[0]?.['state']));
  expect(states).toEqual([1, 0]);
});
