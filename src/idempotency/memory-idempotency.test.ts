import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finish } from '../../test/idempotency/faulty-store.ts';
import { virtualTime, type VirtualTime } from '../testing/virtual-time.ts';
import type { Claim, IdempotencyStore } from './idempotency-store.ts';
import { memoryIdempotency, type MemoryIdempotencyOptions } from './memory-idempotency.ts';

function claimOf(id: string, own: Partial<Claim> = {}): Claim {
  return {
    id,
    domain: 'd',
    person: null,
    fingerprint: 'f',
    owner: `owner of ${id}`,
    leaseMs: 1_000,
    keepMs: 60_000,
    takeUnknown: false,
    ...own,
  };
}

function made(options: MemoryIdempotencyOptions = {}): { store: IdempotencyStore; time: VirtualTime } {
  const time = virtualTime();
  return { store: memoryIdempotency({ effects: time, ...options }), time };
}

async function done(store: IdempotencyStore, id: string, head = '"x"'): Promise<void> {
  await store.claim(claimOf(id));
  await store.end(claimOf(id), finish(head));
}

const kept = async (store: IdempotencyStore, ...ids: readonly string[]): Promise<string[]> => {
  const found = await Promise.all(ids.map((id) => store.find(id)));
  return ids.filter((_, i) => found[i] !== undefined);
};

describe('a full store in memory', () => {
  test('drops the finished record that was not asked for the longest [S1.3]', async () => {
    const { store } = made({ maxRecords: 3 });
    for (const id of ['a', 'b', 'c']) await done(store, id);
    expect(await store.claim(claimOf('a', { owner: 'other' }))).toMatchObject({ kind: 'finished' });
    await done(store, 'd');
    expect(await kept(store, 'a', 'b', 'c', 'd')).toEqual(['a', 'c', 'd']);
  });

  test('never drops what runs or is unknown: it refuses new claims, and goes on with those it has [S1.3]', async () => {
    const { store, time } = made({ maxRecords: 3 });
    await done(store, 'finished');
    await store.claim(claimOf('running'));
    await store.claim(claimOf('lost'));
    await store.claim(claimOf('doubted'));
    await store.end(claimOf('doubted'), { kind: 'doubt' });
    expect(await kept(store, 'finished', 'running', 'lost', 'doubted')).toEqual(['running', 'lost', 'doubted']);
    await time.advance(1_000);
    await expect(store.claim(claimOf('new'))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_STORE_FULL',
      details: { records: 3 },
    });
    expect(await store.renew(claimOf('running'))).toBe(true);
    expect(await store.end(claimOf('running'), finish('"x"'))).toBe('ended');
    expect(await store.claim(claimOf('new'))).toMatchObject({ kind: 'claimed' });
    expect(await kept(store, 'running', 'lost', 'doubted', 'new')).toEqual(['lost', 'doubted', 'new']);
  });

  test('makes room by what has expired, running or not', async () => {
    const { store, time } = made({ maxRecords: 2 });
    await store.claim(claimOf('a'));
    await store.claim(claimOf('b'));
    await time.advance(60_000);
    expect(await store.claim(claimOf('c'))).toMatchObject({ kind: 'claimed' });
    expect(await kept(store, 'a', 'b', 'c')).toEqual(['c']);
  });

  test('counts bytes, and keeps that something was done when its reply has no room at all', async () => {
    const { store } = made({ maxBytes: 10_000 });
    for (const id of ['a', 'b', 'c']) await done(store, id, 'x'.repeat(1_500));
    expect(await kept(store, 'a', 'b', 'c')).toEqual(['b', 'c']);
    await store.claim(claimOf('large'));
    const body = new Uint8Array(10_000);
    const end = { ...finish('{}'), reply: { head: '{}', body } };
    expect(await store.end(claimOf('large'), end)).toBe('ended');
    expect(await store.claim(claimOf('large'))).toMatchObject({ kind: 'finished', reply: null });
    expect(await kept(store, 'b', 'c')).toEqual(['b', 'c']);
  });

  test('is never larger than it may be, and never forgets what is open, whatever is done [S1.3]', async () => {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 7 }).map((i) => `r${i}`),
      fc.constantFrom('claim', 'finish', 'release', 'doubt', 'renew'),
      fc.integer({ min: 0, max: 800 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { store, time } = made({ maxRecords: 4, maxBytes: 6_000 });
        const open = new Set<string>();
        for (const [id, what, size] of steps) {
          await time.advance(1);
          const claim = claimOf(id);
          if (what === 'claim') {
            const answer = await store.claim(claim).catch(() => undefined);
            if (answer?.kind === 'claimed') open.add(id);
          } else if (open.has(id)) {
            if (what === 'renew') await store.renew(claim);
            else await store.end(claim, what === 'finish' ? finish('x'.repeat(size)) : { kind: what });
            if (what === 'finish' || what === 'release') open.delete(id);
          }
          expect(await kept(store, ...open)).toEqual([...open]);
          const all = await kept(store, 'r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7');
          expect(all.length).toBeLessThanOrEqual(4);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('a store in memory', () => {
  test('shows nothing that has expired, and removes as many of those as it is told', async () => {
    const { store, time } = made();
    for (const id of ['a', 'b', 'c']) await done(store, id);
    await time.advance(60_000);
    await done(store, 'd');
    expect(await kept(store, 'a', 'b', 'c', 'd')).toEqual(['d']);
    expect(await store.reap(2)).toBe(2);
    expect(await store.reap(2)).toBe(1);
    expect(await store.reap(2)).toBe(0);
  });

  test('does not end a lease because somebody sets the clock', async () => {
    const { store, time } = made();
    await store.claim(claimOf('a'));
    time.jumpWall(86_400_000);
    expect(await store.claim(claimOf('a', { owner: 'other' }))).toMatchObject({ kind: 'running', leaseLeftMs: 1_000 });
    expect(await store.find('a')).toMatchObject({ createdAt: Date.UTC(2026, 0, 1) });
  });

  test('erases by person', async () => {
    const { store } = made();
    const claim = claimOf('a', { person: 'ann' });
    await store.claim(claim);
    await store.end(claim, finish('"x"'));
    expect(await store.erase('bob')).toBe(0);
    expect(await store.erase('ann')).toBe(1);
    expect(await store.erase('ann')).toBe(0);
    expect(await store.find('a')).toMatchObject({ person: null, reply: null, status: 'completed' });
  });

  test('options of memoryIdempotency that cannot work are refused', () => {
    expect(() => memoryIdempotency({ maxRecords: 0, maxByte: 1 } as never)).toThrow(
      /did you mean maxBytes.*maxRecords is 0/,
    );
  });
});
