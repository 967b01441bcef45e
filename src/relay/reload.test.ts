import { afterEach, describe, expect, test } from 'vitest';
import type { MemoryTransaction } from '../testing/index.ts';
import type { HandlerContext } from './handler.ts';
import { type Acts, keyed, noted, VirtualService } from '../../test/support/virtual-service.ts';

let virtual: VirtualService;
afterEach(() => virtual.end());

const after = (ms: number): Promise<void> => new Promise((resolve) => virtual.time.setTimer(() => resolve(), ms));

const SLOWLY = { policy: { maxAttempts: 3, baseDelayMs: 20_000, maxDelayMs: 20_000, jitter: 'none' } } as const;

/** The first commit is refused, by which its shard starts over; `goOn` ends the wait of all results and `loads` that of the second load. */
function refusing({ holdsResults = false, holdsLoad = false }): { acts: Acts; goOn: () => void; loads: () => number } {
  const gate = Promise.withResolvers<void>();
  let commits = 0;
  let loads = 0;
  const acts: Acts = (session) => ({
    commit: async (...args) => ((commits += 1) === 1 ? 'refused' : session.commit(...args)),
    settle: async (...args) => {
      if (holdsResults) await gate.promise;
      return session.settle(...args);
    },
    load: async (...args) => {
      const loaded = await session.load(...args);
      if ((loads += 1) === 2 && holdsLoad) await gate.promise;
      return loaded;
    },
  });
  return { acts, goOn: gate.resolve, loads: () => loads };
}

describe('a shard that starts over', () => {
  test('starts nothing twice that was queued before', async () => {
    virtual = new VirtualService({ units: 1 });
    const started: number[] = [];
    const hf = virtual.service((session) => ({
      settle: async (workerId, settlements) =>
        started.length < 3 ? { settled: new Set(), lostUnits: new Set() } : session.settle(workerId, settlements),
    }));
    hf.on(noted, 'h', ({ n }) => after(started.push(n) === 2 ? 1_000 : 0), { concurrency: 1 });
    await virtual.start(hf);
    await virtual.send(async (tx) => {
      for (const n of [1, 2, 3]) await hf.send(tx, noted, { n });
    });
    await virtual.time.advance(5_000);
    // The result of the first was refused while the second ran and the third was queued.
    expect(started.toSorted((a, b) => a - b)).toEqual([1, 1, 2, 3]);
    expect(virtual.store.deliveries()).toEqual([]);
  });

  test('is not loaded before the results of what ran in it are written', async () => {
    virtual = new VirtualService({ units: 1 });
    const refused = refusing({ holdsResults: true });
    const started: string[] = [];
    const hf = virtual.service(refused.acts);
    const handle = async (
      { k, n }: { k: string; n: number },
      ctx: HandlerContext<MemoryTransaction>,
    ): Promise<void> => {
      started.push(`${k}${n}`);
      if (k === 'other') return ctx.commit(async (tx) => tx.record(n));
      if (started.filter((one) => one === 'k1').length === 1) throw new Error('not yet');
    };
    hf.on(keyed, 'h', handle, { ...SLOWLY, breaker: false });
    await virtual.start(hf);
    await virtual.send(async (tx) => {
      for (const n of [1, 2]) await hf.send(tx, keyed, { k: 'k', n });
      await hf.send(tx, keyed, { k: 'other', n: 3 });
    });
    await virtual.time.advance(2_000);
    expect(started, 'the second stands behind the first, whose failure is not written').toEqual(['k1', 'other3']);
    refused.goOn();
    await virtual.time.advance(60_000);
    expect(started).toEqual(['k1', 'other3', 'other3', 'k1', 'k2']);
  });

  test('is loaded again where a run ended while it was loaded: what was loaded may be older than its result', async () => {
    virtual = new VirtualService({ units: 1 });
    const refused = refusing({ holdsLoad: true });
    const started: string[] = [];
    const hf = virtual.service(refused.acts);
    const handle = async (
      { k, n }: { k: string; n: number },
      ctx: HandlerContext<MemoryTransaction>,
    ): Promise<void> => {
      started.push(`${k}${n}`);
      if (k === 'other') return ctx.commit(async (tx) => tx.record(n));
      if (started.filter((one) => one === 'k1').length > 1 || n > 1) return;
      await after(1_000);
      throw new Error('not yet');
    };
    hf.on(keyed, 'h', handle, { ...SLOWLY, breaker: false });
    await virtual.start(hf);
    await virtual.send(async (tx) => {
      for (const n of [1, 2]) await hf.send(tx, keyed, { k: 'k', n });
      await hf.send(tx, keyed, { k: 'other', n: 3 });
    });
    await virtual.time.advance(2_000);
    expect([started, refused.loads()], 'the failure of the first is written').toEqual([['k1', 'other3'], 2]);
    refused.goOn();
    await virtual.time.advance(2_000);
    expect(started).toEqual(['k1', 'other3', 'other3']);
    await virtual.time.advance(60_000);
    expect(started).toEqual(['k1', 'other3', 'other3', 'k1', 'k2']);
  });

  test.for([
    ['another server answers', 'server'],
    ['more came late than it looks through', 'overflow'],
  ] as const)('is loaded again when %s', async ([, what]) => {
    virtual = new VirtualService({ units: 1 });
    let loads = 0;
    let isChanged = false;
    const hf = virtual.service((session) => ({
      load: (units) => {
        loads += 1;
        return session.load(units);
      },
      read: async (request) => {
        const answer = await session.read(request);
        if (!isChanged) return answer;
        if (what === 'server') return { ...answer, snapshot: { ...answer.snapshot, server: 'another' } };
        isChanged = false;
        return { ...answer, isLateOverflow: true };
      },
    }));
    hf.on(noted, 'h', () => undefined);
    await virtual.start(hf);
    expect(loads).toBe(1);
    isChanged = true;
    await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
    await virtual.time.advance(1_000);
    expect([loads, virtual.store.deliveries()]).toEqual([2, []]);
  });
});

describe('more of a long key queue', () => {
  const sendAll = async (hf: ReturnType<VirtualService['service']>): Promise<void> =>
    virtual.send(async (tx) => {
      for (let n = 1; n <= 12; n += 1) await hf.send(tx, keyed, { k: 'k', n });
    });
  const ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

  test('of which one is missing is read again: without it, those behind it would run before it', async () => {
    virtual = new VirtualService({ units: 1 });
    let fetches = 0;
    const hf = virtual.service((session) => ({
      // It was being edited.
      fetch: async (...args) => (await session.fetch(...args)).slice((fetches += 1) === 1 ? 1 : 0),
    }));
    const started: number[] = [];
    hf.on(keyed, 'h', ({ n }) => void started.push(n));
    await virtual.start(hf);
    await sendAll(hf);
    await virtual.time.advance(1_000);
    expect(fetches).toBeGreaterThan(0);
    expect(started).toEqual(ALL);
  });

  test('that comes when its shard has started over is not wanted any more', async () => {
    virtual = new VirtualService({ units: 1 });
    const refused = refusing({});
    const fetched = Promise.withResolvers<void>();
    let fetches = 0;
    const hf = virtual.service((session) => ({
      ...refused.acts(session),
      fetch: async (...args) => {
        const rows = await session.fetch(...args);
        if ((fetches += 1) === 1) await fetched.promise;
        return rows;
      },
    }));
    const started: number[] = [];
    hf.on(keyed, 'h', async ({ k, n }, ctx) => {
      if (k === 'other') return ctx.commit(async (tx) => tx.record(n));
      started.push(n);
      return after(100);
    });
    await virtual.start(hf);
    await sendAll(hf);
    await virtual.time.advance(950);
    expect([fetches, started.length]).toEqual([1, 9]);
    await virtual.send((tx) => hf.send(tx, keyed, { k: 'other', n: 0 }));
    await virtual.time.advance(120);
    fetched.resolve();
    await virtual.time.advance(5_000);
    expect(started).toEqual(ALL);
  });
});

test('a retry whose result was written while a read was on its way runs when it is due', async () => {
  virtual = new VirtualService({ units: 1 });
  let isHeld = false;
  let runs = 0;
  const hf = virtual.service((session) => ({
    read: async (request) => {
      const answer = await session.read(request);
      if (isHeld) await after(400);
      return answer;
    },
  }));
  const handle = async ({ n }: { n: number }): Promise<void> => {
    if (n > 1) return;
    runs += 1;
    await after(500);
    if (runs === 1) throw new Error('not yet');
  };
  hf.on(noted, 'h', handle, { policy: { ...SLOWLY.policy, baseDelayMs: 1_000 }, breaker: false });
  await virtual.start(hf);
  await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
  await virtual.time.advance(400);
  isHeld = true;
  await virtual.send((tx) => hf.send(tx, noted, { n: 2 }));
  await virtual.time.advance(300);
  isHeld = false;
  await virtual.time.advance(5_000);
  expect(runs).toBe(2);
});

test('what was committed while a handler was paused, and sent before, is found when it goes on', async () => {
  virtual = new VirtualService({ units: 1 });
  let pausedLanes: readonly number[] = [];
  const handled: number[] = [];
  const hf = virtual.service((session) => ({
    survey: async (workerId) => ({ ...(await session.survey(workerId)), pausedLanes }),
  }));
  hf.on(noted, 'paused', ({ n }) => void handled.push(n));
  hf.on(keyed, 'other', () => undefined);
  await virtual.start(hf);
  const late = virtual.store.begin();
  await hf.send(late, noted, { n: 1 });
  await virtual.send((tx) => hf.send(tx, noted, { n: 2 }));
  await virtual.time.advance(1_000);
  pausedLanes = [1];
  await virtual.time.advance(1_000);
  late.commit();
  for (let n = 0; n < 3; n += 1) {
    await virtual.send((tx) => hf.send(tx, keyed, { k: 'k', n }));
    await virtual.time.advance(1_000);
  }
  expect(handled).toEqual([2]);
  pausedLanes = [];
  await virtual.time.advance(1_000);
  expect(handled).toEqual([2, 1]);
});
