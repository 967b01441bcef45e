import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type IdempotencyStore, memoryIdempotency } from '../../src/idempotency/index.ts';
import { ADAPTERS } from './adapters.ts';
import { bench } from './bench-route.ts';
import { call } from './call.ts';

describe.each(ADAPTERS)('$name and its store', (adapter) => {
  test(`${adapter.name}: a store that refuses or hangs lets nothing run [S1.3]`, async () => {
    for (const how of ['refuses', 'hangs'] as const) {
      const store = memoryIdempotency();
      const claim =
        how === 'refuses' ? () => Promise.reject(new Error('away')) : () => new Promise<never>(() => undefined);
      const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x' }), {
        store: { ...store, claim },
        storeTimeoutMs: 50,
      });
      const answer = await call(url, 'x');
      expect([how, answer]).toMatchObject([how, { status: 503, problem: 'store-down' }]);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(count()).toBe(0);
    }
  });

  test(`${adapter.name}: a store that is away at the end does not keep the reply from its client [S1.3]`, async () => {
    for (const how of ['refuses', 'hangs'] as const) {
      const store = memoryIdempotency();
      let isAway = true;
      const end: IdempotencyStore['end'] = async (claim, how2) => {
        if (!isAway) return store.end(claim, how2);
        return how === 'refuses' ? Promise.reject(new Error('away')) : new Promise<never>(() => undefined);
      };
      const { url, count } = await bench(adapter, (n) => ({ status: 200, body: `${n}` }), {
        store: { ...store, end },
        storeTimeoutMs: 50,
      });
      const key = randomUUID();
      expect((await call(url, 'x', { key })).text).toBe('1');
      expect((await call(url, 'x', { key })).problem).toBe('in-flight');
      isAway = false;
      await expect.poll(async () => (await call(url, 'x', { key })).isReplay, { timeout: 20_000 }).toBe(true);
      expect(count()).toBe(1);
    }
  });

  test(`${adapter.name}: running unguarded must be chosen [S1.3]`, async () => {
    const store = { ...memoryIdempotency(), claim: () => Promise.reject(new Error('away')) };
    const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x' }), { store, whenStoreDown: 'run' });
    expect((await call(url, 'x')).status).toBe(200);
    expect(count()).toBe(1);
  });

  test(`${adapter.name}: a run that was lost is refused, or runs again where that was chosen [X.15]`, async () => {
    for (const [unknown, status] of [
      ['refuse', 409],
      ['rerun', 200],
    ] as const) {
      const store = memoryIdempotency();
      // The process of the first run has died: nobody renews, nobody ends.
      let isDead = true;
      const dead: IdempotencyStore = {
        ...store,
        renew: async (claim) => !isDead && store.renew(claim),
        end: async (claim, end) => (isDead ? 'ended' : store.end(claim, end)),
      };
      const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x' }), {
        store: dead,
        unknown,
        leaseMs: 1_000,
      });
      const key = randomUUID();
      await call(url, 'x', { key });
      isDead = false;
      await expect
        .poll(async () => (await call(url, 'x', { key })).problem !== 'in-flight', { timeout: 20_000 })
        .toBe(true);
      const answer = await call(url, 'x', { key });
      expect([unknown, answer.status, count()]).toEqual([unknown, status, unknown === 'refuse' ? 1 : 2]);
      if (unknown === 'refuse') expect(answer.problem).toBe('unknown-outcome');
    }
  });
});
