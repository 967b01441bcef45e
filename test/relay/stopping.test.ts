import { expect, onTestFinished } from 'vitest';
import { event } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from './service.ts';

const test = needs('postgres');

test('a relay that stops while its housekeeping is held up lives on until what runs has ended [X.18]', async ({
  postgres,
}) => {
  const { hf, pool, schema, start, inTransaction, column, events } = await testService(postgres);
  const placed = event('order.placed');
  const entered = Promise.withResolvers<void>();
  hf.on(placed, 'slow', async (_, ctx) => {
    entered.resolve();
    // Longer than the lease: only the heartbeat keeps its place.
    await column('select pg_sleep(2)');
    await ctx.commit(async (tx) => tx.query(`insert into "${schema}".effect values ($1)`, [ctx.id]));
  });
  const holder = await pool.connect();
  onTestFinished(() => holder.release(true));
  await holder.query('begin');
  await holder.query(`lock table "${schema}".inbox`);
  const waits = `select count(*)::int from pg_locks where relation = '$.inbox'::regclass and not granted`;
  const relay = await start({ leaseMs: 1_000 });
  await inTransaction((tx) => hf.send(tx, placed, {}));
  await entered.promise;
  await expect.poll(() => column(waits)).toEqual([1]);
  await relay.stop();
  expect(events.map(({ kind }) => kind)).not.toContain('units-lost');
  expect(await column('select count(*)::int from $.effect')).toEqual([1]);
  expect(events.at(-1)).toEqual({ kind: 'stopped' });
});
