import { expect } from 'vitest';
import { event, outgoing } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from './service.ts';

const test = needs('postgres');

test('handlers that hang, with a long line before each, do not keep another from its messages [S0.11]', async ({
  postgres,
}) => {
  const { hf, start, inTransaction } = await testService(postgres);
  const slow = event<number>('slow');
  const fast = event<number>('fast');
  const mayEnd = Promise.withResolvers<void>();
  // Enough of them that what they have ahead fills the memory that is for it.
  for (let n = 1; n <= 9; n += 1) hf.on(slow, `hangs-${n}`, () => mayEnd.promise, { concurrency: 1 });
  const seen: number[] = [];
  hf.on(fast, 'works', (n) => void seen.push(n));
  await start();
  await inTransaction((tx) =>
    hf.sendAll(
      tx,
      Array.from({ length: 1_000 }, (_, n) => outgoing(slow, n)),
    ),
  );
  await inTransaction((tx) => hf.send(tx, fast, 1));
  await expect.poll(() => seen).toEqual([1]);
  // And when that line has been read.
  await inTransaction((tx) => hf.send(tx, fast, 2));
  await expect.poll(() => seen).toEqual([1, 2]);
  mayEnd.resolve();
});

test('a key behind each of very many dead letters waits, and all others go on [X.4]', async ({ postgres }) => {
  const { hf, start, inTransaction, column } = await testService(postgres);
  const placed = event<string>('placed', { key: (key) => key });
  const seen: string[] = [];
  hf.on(placed, 'ship', (key) => void seen.push(key));
  await (await start()).stop();
  await column(`insert into $.delivery (id, handler, unit, state, failed_at, holds, type, key, payload, idempotency_key, source)
    select gen_random_uuid(), 1, 32 + n % 32, 2, now(), true, 'placed', 'key ' || n, '"x"', n, 'test'
    from generate_series(1, 200001) n`);
  await start();
  await inTransaction((tx) => hf.send(tx, placed, 'another'));
  await expect.poll(() => seen).toEqual(['another']);
});
