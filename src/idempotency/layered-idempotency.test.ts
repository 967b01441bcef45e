import { describe, expect, test } from 'vitest';
import { type FaultyStore, faultyStore, finish, ledgerStore } from '../../test/idempotency/faulty-store.ts';
import { ask } from '../../test/idempotency/watched.ts';
import { virtualTime, type VirtualTime } from '../testing/virtual-time.ts';
import type { IdempotencyEvent } from './idempotency-event.ts';
import type { IdempotencyStore } from './idempotency-store.ts';
import { type EntryOptions, type Idempotency, idempotency } from './idempotency.ts';
import { layered, type LayeredOptions } from './layered-idempotency.ts';
import { memoryIdempotency } from './memory-idempotency.ts';
import { type CachedAbout, type CachedReply, ERASED_MS, type ReplyCache } from './reply-cache.ts';

interface MemoryCache extends ReplyCache {
  /** What goes wrong with the coming calls. */
  fault: 'reject' | 'hang' | undefined;
  readonly asked: string[];
  readonly replies: Map<string, CachedReply & { readonly person: string | null; readonly untilMs: number }>;
}

function memoryCache(time: VirtualTime): MemoryCache {
  const erased = new Map<string, number>();
  const call = async <T>(name: string, ask_: () => T): Promise<T> => {
    cache.asked.push(name);
    if (cache.fault === 'hang') return new Promise(() => undefined);
    if (cache.fault === 'reject') throw new Error('ECONNREFUSED');
    return ask_();
  };
  const cache: MemoryCache = {
    fault: undefined,
    asked: [],
    replies: new Map(),
    get: ({ id }) =>
      call('get', () => {
        const found = cache.replies.get(id);
        return found && found.untilMs > time.now().monoMs ? found : undefined;
      }),
    put: ({ id, person }: CachedAbout, reply, ttlMs) =>
      call('put', () => {
        const now = time.now().monoMs;
        if (person !== null && (erased.get(person) ?? 0) > now) return;
        cache.replies.set(id, { ...reply, person, untilMs: now + ttlMs });
      }),
    erase: (person) =>
      call('erase', () => {
        erased.set(person, time.now().monoMs + ERASED_MS);
        for (const [id, reply] of cache.replies) if (reply.person === person) cache.replies.delete(id);
      }),
  };
  return cache;
}

interface Layers {
  readonly time: VirtualTime;
  readonly cache: MemoryCache;
  readonly truth: FaultyStore;
  readonly store: IdempotencyStore;
  readonly idem: Idempotency<never>;
  readonly events: IdempotencyEvent[];
  /** Runs once and keeps `head`; then lets what is put in the background arrive. */
  runOnce(own?: Partial<EntryOptions>): Promise<void>;
}

function layers(options: Partial<LayeredOptions> = {}): Layers {
  const time = virtualTime();
  const cache = memoryCache(time);
  const truth = faultyStore(memoryIdempotency({ effects: time }), time);
  const events: IdempotencyEvent[] = [];
  const observers = [(event: IdempotencyEvent): void => void events.push(event)];
  const store = layered({ cache, truth, effects: time, observers, ...options });
  const idem = idempotency({ store, service: 's', effects: time });
  return {
    time,
    cache,
    truth,
    store,
    idem,
    events,
    runOnce: async (own) => {
      const entry = await idem.enter(ask(own));
      if (entry.kind !== 'run') throw new Error(entry.kind);
      await entry.run.end(finish('"made"'));
      await time.advance(0);
    },
  };
}

describe('a layered store', () => {
  test('answers repetitions from the cache, and asks the truth for everything else [S1.3]', async () => {
    const { cache, idem, runOnce, truth } = layers();
    await runOnce();
    expect(truth.asked).toEqual(['claim', 'end finish', 'find']);
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished', status: 'completed', reply: { head: '"made"' } });
    expect(await idem.enter(ask({ fingerprint: 'f2' }))).toEqual({ kind: 'mismatch' });
    expect(truth.asked).toHaveLength(3);
    expect(cache.asked).toEqual(['get', 'put', 'get', 'get']);
  });

  test('keeps nothing in the cache of what runs, was released or is unknown', async () => {
    const { cache, idem, time } = layers();
    for (const kind of ['release', 'doubt'] as const) {
      const entry = await idem.enter(ask());
      await time.advance(0);
      expect(cache.replies.size).toBe(0);
      if (entry.kind === 'run') await entry.run.end({ kind });
      await time.advance(0);
      expect(cache.replies.size).toBe(0);
    }
    expect(await idem.enter(ask())).toMatchObject({ kind: 'unknown' });
  });

  test('loses nothing when the cache does: it is asked of the truth, and kept again for a while [S1.3]', async () => {
    const { cache, idem, runOnce, time, truth } = layers();
    await runOnce();
    cache.replies.clear();
    const asked = truth.asked.length;
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
    await time.advance(0);
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
    expect(truth.asked.length).toBe(asked + 1);
    await time.advance(60_000);
    await idem.enter(ask());
    expect(truth.asked.filter((call) => call === 'claim')).toHaveLength(3);
  });

  test('lets the cache forget before the record expires', async () => {
    const { cache, idem, runOnce, time } = layers();
    await runOnce({ keepMs: 60_000 });
    const [reply] = cache.replies.values();
    expect(reply?.untilMs).toBe(54_000);
    await time.advance(60_000);
    expect(await idem.enter(ask())).toMatchObject({ kind: 'run' });
  });

  test('keeps no reply that the truth has not: of two ends of a run the first counts', async () => {
    const { cache, store, time, truth } = layers();
    const claim = { ...CLAIM, person: null };
    await store.claim(claim);
    await truth.end(claim, finish('"first"'));
    expect(await store.end(claim, finish('"second"'))).toBe('ended');
    await time.advance(0);
    expect([...cache.replies.values()]).toMatchObject([{ reply: { head: '"first"' } }]);
    expect(await store.end({ ...claim, owner: 'other' }, finish('"third"'))).toBe('late');
    await time.advance(0);
    expect(cache.asked.filter((call) => call === 'put')).toHaveLength(1);
  });

  test('passes signs of life, looks, and reaping on to the truth', async () => {
    const { store, truth } = layers();
    await store.claim(CLAIM);
    expect(await store.renew(CLAIM)).toBe(true);
    expect(await store.find('i')).toMatchObject({ status: 'processing' });
    expect(await store.reap(10)).toBe(0);
    expect(truth.asked).toEqual(['claim', 'renew', 'find', 'reap']);
    expect('commit' in store).toBe(false);
  });

  test('has the transactions of its truth [X.15]', async () => {
    const time = virtualTime();
    const cache = memoryCache(time);
    const truth = ledgerStore(memoryIdempotency({ effects: time }));
    const idem = idempotency<string[]>({
      store: layered<string[]>({ cache, truth, effects: time }),
      service: 's',
      effects: time,
    });
    const work = (): Promise<number> => idem.once('k', (run) => run.commit(async (tx) => tx.push('x')));
    expect(await work()).toBe(1);
    await time.advance(0);
    expect(cache.replies.size).toBe(1);
    expect(await work()).toBe(1);
    expect(await idem.transaction(async (tx) => tx.push('free'))).toBe(1);
    expect(truth.ledger).toEqual(['x', 'free']);
  });
});

describe.each(['reject', 'hang'] as const)('a cache that does not answer (%s)', (fault) => {
  test('costs one wait, and is then left alone until one finds it well again [S1.3]', async () => {
    const { cache, events, idem, runOnce, time } = layers();
    await runOnce();
    cache.fault = fault;
    const asked = cache.asked.length;
    for (let i = 0; i < 10; i++) {
      expect(await time.settle(idem.enter(ask()))).toMatchObject({ kind: 'finished' });
    }
    expect(cache.asked.length).toBe(asked + 1);
    expect(time.now().monoMs).toBeLessThanOrEqual(50);
    await time.advance(5_000);
    // Of all that come after the pause one tries; the others do not wait for it.
    await time.settle(Promise.all(Array.from({ length: 10 }, () => idem.enter(ask()))));
    expect(cache.asked.length).toBe(asked + 2);
    cache.fault = undefined;
    await time.advance(5_000);
    for (let i = 0; i < 3; i++) await idem.enter(ask());
    expect(cache.asked.length).toBe(asked + 5);
    expect(events.map((event) => event.kind === 'cache-failed' && event.during)).toEqual(['get', 'get']);
    expect(time.pendingTimers).toBe(0);
  });

  test('does not keep a reply waiting, nor a run from being let in', async () => {
    const { cache, idem, time, truth } = layers();
    const entry = await idem.enter(ask());
    cache.fault = fault;
    if (entry.kind !== 'run') throw new Error(entry.kind);
    expect(await entry.run.end(finish('"x"'))).toBe('ended');
    expect(await time.settle(idem.enter(ask({ key: 'k2' })))).toMatchObject({ kind: 'run' });
    expect(truth.asked.filter((call) => call === 'find')).toHaveLength(1);
  });

  test('makes an erasure fail, so that it is repeated: some of it may still be there', async () => {
    const { cache, events, idem, runOnce, time } = layers();
    await runOnce();
    cache.fault = fault;
    await expect(time.settle(idem.erase('ann'))).rejects.toThrow(
      fault === 'reject' ? 'ECONNREFUSED' : 'did not answer erase',
    );
    expect(events.filter((event) => event.kind === 'cache-failed').length).toBe(fault === 'reject' ? 1 : 0);
    cache.fault = undefined;
    await idem.erase('ann');
    expect(cache.replies.size).toBe(0);
    await time.advance(10_000);
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished', reply: null });
  });
});

describe('a person who was erased', () => {
  test('leaves nothing in the cache, and a run that ends afterwards brings nothing back', async () => {
    const { cache, idem, runOnce, time } = layers();
    await runOnce();
    await runOnce({ person: 'bob' });
    const running = await idem.enter(ask({ key: 'k2' }));
    expect(await idem.erase('ann')).toBe(2);
    expect([...cache.replies.values()]).toHaveLength(1);
    if (running.kind !== 'run') throw new Error(running.kind);
    await running.run.end(finish('"private"'));
    await time.advance(0);
    expect([...cache.replies.values()]).toHaveLength(1);
    expect(await idem.enter(ask({ key: 'k2' }))).toMatchObject({ kind: 'finished', reply: null });
    await time.advance(0);
    expect(JSON.stringify([...cache.replies.values()])).not.toContain('private');
  });
});

describe('a truth that does not answer', () => {
  test('still lets the cache answer what it has, and nobody in [S1.3]', async () => {
    const { idem, runOnce, time, truth } = layers();
    await runOnce();
    truth.faults.claim = 'hang';
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
    expect(await time.settle(idem.enter(ask({ key: 'k2' })))).toMatchObject({ kind: 'store-down' });
  });

  test('is not what an ended run fails on when the cache is filled', async () => {
    const { cache, runOnce, truth } = layers();
    truth.faults.find = 'reject';
    await runOnce();
    expect(cache.replies.size).toBe(0);
  });
});

test('options of layered that cannot work are refused, all named', () => {
  expect(() => layered({ cache: {}, truth: {}, pausems: 1, cacheTimeoutMs: 0, pauseMs: -1 } as never)).toThrow(
    /did you mean pauseMs.*cache is an object.*truth is an object.*cacheTimeoutMs is 0.*pauseMs is -1/,
  );
});

const CLAIM = {
  id: 'i',
  domain: 'd',
  person: 'p',
  fingerprint: 'f',
  owner: 'o',
  leaseMs: 1_000,
  keepMs: 60_000,
  takeUnknown: false,
};
