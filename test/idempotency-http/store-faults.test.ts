import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type IdempotencyStore, memoryIdempotency } from '../../src/idempotency/index.ts';
import { TRIED_HARDER } from './adapters.ts';
import { bench, Door } from './bench-route.ts';
import { type Answered, call } from './call.ts';

/** A store of a process that has died, until its heir comes: nobody renews, and no end arrives. */
function mortal(): { readonly store: IdempotencyStore; heirComes(): void } {
  const store = memoryIdempotency();
  let isDead = true;
  return {
    store: {
      ...store,
      renew: async (claim) => !isDead && store.renew(claim),
      end: async (claim, end) => (isDead ? 'ended' : store.end(claim, end)),
    },
    heirComes: () => (isDead = false),
  };
}

/** Sends it until it is known what became of the first one. */
async function settled(url: string, key: string): Promise<Answered> {
  let answer: Answered | undefined;
  await expect.poll(async () => (answer = await call(url, 'x', { key })).problem).not.toBe('in-flight');
  return answer as Answered;
}

describe.each(TRIED_HARDER)('$name and its store', (adapter) => {
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
      await expect.poll(async () => (await call(url, 'x', { key })).isReplay).toBe(true);
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
      const { store, heirComes } = mortal();
      const { url, count } = await bench(adapter, () => ({ status: 200, body: 'x' }), {
        store,
        unknown,
        leaseMs: 1_000,
      });
      const key = randomUUID();
      await call(url, 'x', { key });
      heirComes();
      const answer = await settled(url, key);
      expect([unknown, answer.status, count()]).toEqual([unknown, status, unknown === 'refuse' ? 1 : 2]);
      if (unknown === 'refuse') expect(answer.problem).toBe('unknown-outcome');
    }
  });

  test(`${adapter.name}: whoever is asked about a lost run may refuse or fail, and is asked again by the next request [X.15]`, async () => {
    const { store, heirComes } = mortal();
    let asked = 0;
    const { url, count } = await bench(adapter, (n) => ({ status: 200, body: `${n}` }), {
      store,
      unknown: async () => {
        if (++asked === 2) throw new Error('nobody can tell');
        return asked === 1 ? 'refuse' : 'rerun';
      },
      leaseMs: 1_000,
    });
    const key = randomUUID();
    await call(url, 'x', { key });
    heirComes();
    expect(await settled(url, key)).toMatchObject({ status: 409, problem: 'unknown-outcome' });
    expect(await call(url, 'x', { key })).toMatchObject({ status: 500, isReplay: false });
    expect([asked, count()]).toEqual([2, 1]);
    for (const isReplay of [false, true])
      expect(await call(url, 'x', { key })).toMatchObject({ status: 200, text: '2', isReplay });
    expect([asked, count()]).toEqual([3, 2]);
  });

  test(`${adapter.name}: a run that comes back after another has taken over gives its client the reply of that one [X.15]`, async () => {
    const door = new Door();
    const store = { ...memoryIdempotency(), renew: () => Promise.reject(new Error('away')) };
    const { url, count } = await bench(
      adapter,
      async (n) => {
        if (n === 1) await door.passed;
        return { status: 200 + n, headers: { 'x-own': `${n}` }, body: `${n}` };
      },
      { store, unknown: 'rerun', leaseMs: 1_000 },
    );
    const key = randomUUID();
    const first = call(url, 'x', { key });
    await expect.poll(count).toBe(1);
    expect(await settled(url, key)).toMatchObject({ status: 202, text: '2', isReplay: false });
    door.open();
    const late = await first;
    expect(late).toMatchObject({ status: 202, text: '2', isReplay: true });
    expect(late.headers.get('x-own')).toBe('2');
  });
});
