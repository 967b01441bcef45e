import { describe, expect, onTestFinished, test as testWithoutServer } from 'vitest';
import { z } from 'zod';
import { constant, event, type HandlerOptions, holdfast, policy, TerminalHandlerError } from '../../src/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import { memoryStore } from '../../src/testing/index.ts';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from './service.ts';

const test = needs('postgres');
const moved = event<{ key: string; n: number }>('item.moved', { key: ({ key }) => key });

async function sendInOrder(service: TestService, key: string, numbers: readonly number[]): Promise<void> {
  for (const n of numbers) {
    await service.inTransaction((tx) => service.hf.send(tx, moved, { key, n }));
  }
}

/** A handler that dies at number 2 as long as `isBroken`, and notes the others. */
function brokenAtTwo(service: TestService, options: HandlerOptions): { seen: string[]; state: { isBroken: boolean } } {
  const seen: string[] = [];
  const state = { isBroken: true };
  service.hf.on(
    moved,
    'mover',
    ({ key, n }) => {
      if (n === 2 && state.isBroken) throw new TerminalHandlerError('stuck');
      seen.push(`${key}${n}`);
    },
    options,
  );
  return { seen, state };
}

async function replayFailed(service: TestService): Promise<void> {
  await service.column(`select $.outbox_replay(id, null, 'test') from $.delivery where state = 2 order by seq`);
}

const failed = 'select (payload ->> $$n$$)::int from $.delivery where state = 2 order by seq'.replaceAll('$$', "'");

describe('messages of one key', () => {
  test('run one at a time and in the order they were committed, other keys beside them [S1.9]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const running = new Set<string>();
    const seen = new Map<string, number[]>();
    let most = 0;
    service.hf.on(moved, 'mover', async ({ key, n }, ctx) => {
      expect(running.has(key)).toBe(false);
      running.add(key);
      most = Math.max(most, running.size);
      await ctx.commit(async (tx) => tx.query('select 1'));
      running.delete(key);
      seen.set(key, [...(seen.get(key) ?? []), n]);
    });
    const keys = ['a', 'b', 'c', 'd', 'e'];
    await service.inTransaction(async (tx) => {
      for (let n = 1; n <= 40; n += 1) for (const key of keys) await service.hf.send(tx, moved, { key, n });
    });
    await service.start();
    await expect.poll(() => [...seen.values()].flat().length).toBe(200);
    const inOrder = Array.from({ length: 40 }, (_, i) => i + 1);
    for (const key of keys) expect(seen.get(key)).toEqual(inOrder);
    expect(most).toBeGreaterThan(1);
  });

  test('run in order when the line is far longer than what is kept in memory', async ({ postgres }) => {
    const service = await testService(postgres);
    const seen: number[] = [];
    service.hf.on(moved, 'mover', ({ n }) => void seen.push(n));
    const numbers = Array.from({ length: 700 }, (_, i) => i + 1);
    await service.inTransaction(async (tx) => {
      for (const n of numbers) await service.hf.send(tx, moved, { key: 'hot', n });
    });
    const relay = await service.start();
    await relay.whenIdle();
    expect(seen).toEqual(numbers);
  });

  test('share a commit in their order', async ({ postgres }) => {
    const service = await testService(postgres);
    service.hf.project(moved, 'table', async ({ n, key }, tx) => {
      await tx.query(`insert into "${service.schema}".effect values ($1, $2)`, [key, n]);
    });
    await service.inTransaction(async (tx) => {
      for (let n = 1; n <= 150; n += 1) for (const key of ['a', 'b']) await service.hf.send(tx, moved, { key, n });
    });
    await service.start();
    await expect.poll(() => service.column('select count(*)::int from $.effect')).toEqual([300]);
    const inOrder = Array.from({ length: 150 }, (_, i) => i + 1);
    for (const key of ['a', 'b']) {
      expect(await service.column(`select n from $.effect where id = '${key}' order by place`)).toEqual(inOrder);
    }
  });

  test('wait while the one before them is tried again, and then go on in order [S4.2]', async ({ postgres }) => {
    const service = await testService(postgres);
    const seen: string[] = [];
    service.hf.on(
      moved,
      'mover',
      ({ n }, { attempt }) => {
        seen.push(`${n}.${attempt}`);
        if (n === 1 && attempt < 3) throw new Error('again');
      },
      { policy: policy({ maxAttempts: 5, schedule: constant(20) }) },
    );
    await service.start();
    await sendInOrder(service, 'a', [1, 2, 3]);
    await expect.poll(() => seen).toEqual(['1.1', '1.2', '1.3', '2.1', '3.1']);
  });
});

describe('behind a dead letter', () => {
  test('block: the key waits, others go on, and a replay lets it go on in order [X.4]', async ({ postgres }) => {
    const service = await testService(postgres);
    const { seen, state } = brokenAtTwo(service, {});
    await service.start();
    await sendInOrder(service, 'a', [1, 2, 3, 4]);
    await sendInOrder(service, 'b', [1, 3]);
    await expect.poll(() => seen.toSorted()).toEqual(['a1', 'b1', 'b3']);
    await expect.poll(() => service.column(failed)).toEqual([2]);
    state.isBroken = false;
    await replayFailed(service);
    await expect.poll(() => seen.filter((one) => one.startsWith('a'))).toEqual(['a1', 'a2', 'a3', 'a4']);
    // The handler has run; its result is written a moment later.
    await expect.poll(() => service.column('select cycle from $.delivered where cycle > 0')).toEqual([1]);
  });

  test('block: the key stays blocked for a process that comes later', async ({ postgres }) => {
    const service = await testService(postgres);
    const { seen } = brokenAtTwo(service, {});
    const first = await service.start();
    await sendInOrder(service, 'a', [1, 2]);
    await expect.poll(() => service.column(failed)).toEqual([2]);
    await first.stop();
    const second = await service.start();
    await sendInOrder(service, 'a', [3]);
    await sendInOrder(service, 'b', [1]);
    await expect.poll(() => seen).toEqual(['a1', 'b1']);
    await second.whenIdle();
    expect(seen).toEqual(['a1', 'b1']);
  });

  test('pass: the key goes on at once [X.4]', async ({ postgres }) => {
    const service = await testService(postgres);
    const { seen, state } = brokenAtTwo(service, { onDead: 'pass' });
    await service.start();
    await sendInOrder(service, 'a', [1, 2, 3, 4]);
    await expect.poll(() => seen).toEqual(['a1', 'a3', 'a4']);
    await expect.poll(() => service.column(failed)).toEqual([2]);
    state.isBroken = false;
    await replayFailed(service);
    await expect.poll(() => seen).toEqual(['a1', 'a3', 'a4', 'a2']);
  });

  test('in a batch, what stands before an unreadable one runs before it, and what stands behind it after it', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const counted = event('n.counted', { schema: z.object({ n: z.number().max(10) }), key: () => 'a' });
    const loose = event<{ n: number }>('n.counted', { key: () => 'a' });
    const seen: number[] = [];
    service.hf.projectAll(counted, 'sum', (batch) => void seen.push(...batch.map(({ payload: { n } }) => n)));
    await service.inTransaction(async (tx) => {
      for (const n of [1, 2, 99, 4, 5]) await service.hf.send(tx, loose, { n });
    });
    await service.start();
    await expect.poll(() => service.column(failed)).toEqual([99]);
    await expect.poll(() => seen).toEqual([1, 2]);
    const operator = postgresOperator({ pool: service.pool, schema: service.schema });
    const { items } = await operator.deadLetters();
    await operator.edit(items[0]?.messageId ?? '', { n: 3 }, { actor: 'ann', reason: 'mistyped' });
    await expect.poll(() => seen).toEqual([1, 2, 3, 4, 5]);
  });

  test('park: those behind it are set aside as dead letters, and replayed in order [X.4]', async ({ postgres }) => {
    const service = await testService(postgres);
    const { seen, state } = brokenAtTwo(service, { onDead: 'park' });
    await service.start();
    await sendInOrder(service, 'a', [1, 2, 3, 4, 5]);
    await expect.poll(() => service.column(failed)).toEqual([2, 3, 4, 5]);
    const codes = `select error ->> 'code' from $.delivery where state = 2 order by seq`;
    expect(await service.column(codes)).toEqual([null, 'PARKED', 'PARKED', 'PARKED']);
    state.isBroken = false;
    await replayFailed(service);
    await expect.poll(() => seen).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
  });
});

testWithoutServer('a message of a long key that is edited while it is fetched keeps its place', async () => {
  let editedId: string | undefined;
  const store = memoryStore({
    fault: ({ call, step }) => {
      if (call === 'fetch' && step === 'before' && editedId !== undefined) {
        store.operator.edit(editedId, { key: 'a', n: 15.5 });
        editedId = undefined;
      }
      return undefined;
    },
  });
  const hf = holdfast({ service: 'orders', store });
  const seen: number[] = [];
  hf.on(moved, 'mover', ({ n }) => void seen.push(n));
  const tx = store.begin();
  const numbers = Array.from({ length: 30 }, (_, i) => i + 1);
  for (const n of numbers) {
    const sent = await hf.send(tx, moved, { key: 'a', n });
    if (n === 15) editedId = sent.id;
  }
  tx.commit();
  const relay = await hf.start();
  onTestFinished(() => relay.stop());
  await expect.poll(() => seen.length).toBe(30);
  expect(seen).toEqual(numbers.map((n) => (n === 15 ? 15.5 : n)));
});
