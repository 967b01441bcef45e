import { describe, expect } from 'vitest';
import { z } from 'zod';
import { aesSealing, event } from '../../src/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from './service.ts';

const test = needs('postgres');

const V1 = event<{ total: number }>('order.placed');
const V2 = event('order.placed', {
  schema: z.object({ total: z.number(), currency: z.string() }),
  version: 2,
  upcast: { 1: (old: { total: number }) => ({ ...old, currency: 'EUR' }) },
});
const V3 = event('order.placed', {
  schema: z.object({ cents: z.number(), currency: z.string() }),
  version: 3,
  upcast: {
    1: (old: { total: number }) => ({ ...old, currency: 'EUR' }),
    2: async ({ total, currency }: { total: number; currency: string }) => ({ cents: total * 100, currency }),
  },
});
const ANN = { actor: 'ann', reason: 'deployed' };

describe('the version of a payload', () => {
  test('that is older than the handler is brought up, step by step: in flight, sealed, over a broker, and a dead letter replayed after it changed [X.17]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const broker = localBroker();
    const sealing = aesSealing({ current: 'k', keys: { k: 'a secret of more than 32 characters' } });
    const options = { transport: transportOf(broker), sealing };
    const before = here.another(options);
    before.on(
      V1,
      'book',
      () => {
        throw new TypeError('not yet');
      },
      { policy: { maxAttempts: 1 } },
    );
    const relay = await here.start({ of: before });
    const { id } = await here.inTransaction((tx) => before.send(tx, V1, { total: 5 }));
    await expect.poll(() => here.column('select state from $.delivery')).toEqual([2]);
    await relay.stop();
    await here.inTransaction((tx) => before.send(tx, V1, { total: 6 }));
    await here.inTransaction((tx) => before.send(tx, V2, { total: 7, currency: 'CHF' }));
    const seen: unknown[] = [];
    const after = here.another(options);
    after.on(V3, 'book', (order) => void seen.push(order));
    await here.start({ of: after });
    await expect.poll(() => seen.length).toBe(2);
    expect(seen).toEqual([
      { cents: 600, currency: 'EUR' },
      { cents: 700, currency: 'CHF' },
    ]);
    await postgresOperator({ pool: here.pool, schema: here.schema }).replay(id, ANN);
    await expect.poll(() => seen[2]).toEqual({ cents: 500, currency: 'EUR' });
  });

  test('that is newer than the handler waits without an attempt, says why, and runs once somebody knows it [X.17]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const old = here.another({});
    const seen: unknown[] = [];
    old.on(V1, 'book', (order) => void seen.push(order));
    const relay = await here.start({ of: old });
    const { id } = await here.inTransaction((tx) => here.hf.send(tx, V2, { total: 7, currency: 'CHF' }));
    await expect.poll(() => here.column('select state from $.delivery')).toEqual([1]);
    expect(await here.column('select attempts from $.delivery')).toEqual([0]);
    expect(await postgresOperator({ pool: here.pool, schema: here.schema }).why(id)).toMatchObject({
      deliveries: [{ reason: { kind: 'postponed', reason: expect.stringContaining('is of version 2') } }],
    });
    await relay.stop();
    expect(seen).toEqual([]);
    const deployed = here.another({});
    deployed.project(V2, 'later', () => undefined);
    deployed.on(V2, 'book', (order) => void seen.push(order));
    await here.start({ of: deployed });
    await here.column(`update $.delivery set due_at = now() where state = 1 returning 1`);
    await expect.poll(() => seen).toEqual([{ total: 7, currency: 'CHF' }]);
  });

  test('without a way up, or whose step throws, is a dead letter at once; wrong steps are refused where they are written [X.17]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const bare = event<object>('bare.sent', { version: 2 });
    const thrown = event<object>('thrown.sent', {
      version: 2,
      upcast: {
        1: () => {
          throw new Error('Bearer sk-0123456789abcdefghij');
        },
      },
    });
    here.hf.on(bare, 'bare', () => undefined);
    here.hf.project(thrown, 'thrown', () => undefined);
    await here.start();
    await here.inTransaction(async (tx) => {
      await here.hf.send(tx, event<object>('bare.sent'), {});
      await here.hf.send(tx, event<object>('thrown.sent'), {});
    });
    const errors = (): Promise<unknown[]> =>
      here.column(`select error ->> 'message' from $.delivery where state = 2 and attempts = 1 order by type`);
    await expect
      .poll(errors)
      .toEqual([
        expect.stringContaining('there is no upcast from version 1'),
        expect.stringMatching(/upcast from version 1 failed.*\[hidden\]/s),
      ]);
    const step = (): object => ({});
    expect(() => event('x', { version: 0 })).toThrow('version is 0');
    expect(() => event('x', { version: 2, upcast: { 2: step } })).toThrow('write versions before 2');
    expect(() => event('x', { version: 4, upcast: { 1: step, 3: step } })).toThrow(
      'upcast.2 is undefined; add the step',
    );
  });
});
