import { expect, onTestFinished, test } from 'vitest';
import { event, holdfast } from '../../src/index.ts';
import { migrate, postgres } from '../../src/postgres/index.ts';
import { privatePostgres } from '../crash/private-postgres.ts';
import { connect, pooled } from './support/fresh-schema.ts';

const placed = event<{ n: number }>('order.placed');

test('a sender may prepare its transaction while a worker sleeps, where it wakes nobody; the message is handled all the same [S4.6]', async () => {
  const server = await privatePostgres();
  const client = await connect(server);
  await migrate(client);
  const hf = holdfast({ service: 'shop', store: postgres({ pool: pooled(server) }) });
  const handled: number[] = [];
  hf.on(placed, 'take', ({ n }) => void handled.push(n));
  const running = await hf.start({ pollMs: 50 });
  onTestFinished(() => running.stop());
  const sleepers = async (): Promise<number | null> => (await client.query('select from holdfast.waiter')).rowCount;
  await expect.poll(sleepers).toBe(1);
  await client.query('begin');
  await hf.send(client, placed, { n: 1 });
  await expect(client.query(`prepare transaction 'loud'`)).rejects.toThrow('NOTIFY');
  await expect.poll(sleepers).toBe(1);
  await client.query('begin');
  await hf.send(client, placed, { n: 2 }, { wake: false });
  await client.query(`prepare transaction 'quiet'`);
  await client.query(`commit prepared 'quiet'`);
  await expect.poll(() => handled).toEqual([2]);
});
