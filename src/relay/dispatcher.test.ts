import { afterEach, describe, expect, test } from 'vitest';
import { type Acts, keyed, noted, VirtualService } from '../../test/support/virtual-service.ts';

let virtual: VirtualService;
/** Ends calls to the store that hang. */
const hung: (() => void)[] = [];
afterEach(() => {
  for (const end of hung.splice(0)) end();
  return virtual.end();
});

const SLOW = { pollMs: 60_000, leaseMs: 10_000 };

/** Results are written once `goOn` is called; `commits` is what reached the database as a commit, by its effect. */
function heldSettling(): { acts: Acts; goOn: () => void; settling: () => number; commits: () => number } {
  const gate = Promise.withResolvers<void>();
  let settling = 0;
  let commits = 0;
  const acts: Acts = (session) => ({
    settle: async (...args) => {
      settling += 1;
      await gate.promise;
      return session.settle(...args);
    },
    commit: (...args) => {
      commits += 1;
      return session.commit(...args);
    },
  });
  return { acts, goOn: gate.resolve, settling: () => settling, commits: () => commits };
}

describe('a commit waits until what ran before it in its key is written', () => {
  test('ctx.commit: a crash in between would run the one before it again after it', async () => {
    virtual = new VirtualService();
    const held = heldSettling();
    const started: number[] = [];
    const hf = virtual.service(held.acts);
    hf.on(keyed, 'h', async ({ n }, ctx) => {
      started.push(n);
      if (n === 2) await ctx.commit(async (tx) => tx.record(n));
    });
    await virtual.start(hf);
    await virtual.send(async (tx) => {
      for (const n of [1, 2]) await hf.send(tx, keyed, { k: 'k', n });
    });
    await virtual.time.advance(1_000);
    expect([started, held.settling(), held.commits()], 'both ran, and neither is written').toEqual([[1, 2], 1, 0]);
    held.goOn();
    await virtual.time.advance(1_000);
    expect([virtual.store.recorded(), virtual.store.deliveries()]).toEqual([[2], []]);
  });

  test('project: the same where messages share a commit', async () => {
    virtual = new VirtualService();
    const held = heldSettling();
    const hf = virtual.service(held.acts);
    const runs: number[] = [];
    hf.project(
      keyed,
      'h',
      ({ n }, tx) => {
        runs.push(n);
        if (n === 1) throw new Error('cannot');
        tx.record(n);
      },
      { onDead: 'pass', policy: { maxAttempts: 1 } },
    );
    await virtual.start(hf);
    await virtual.send(async (tx) => {
      for (const n of [1, 2]) await hf.send(tx, keyed, { k: 'k', n });
    });
    await virtual.time.advance(1_000);
    expect([runs.includes(1), virtual.store.recorded()], 'the second waits for the dead letter').toEqual([true, []]);
    held.goOn();
    await virtual.time.advance(1_000);
    expect(virtual.store.recorded()).toEqual([2]);
  });

  test('another key is not waited for', async () => {
    virtual = new VirtualService({ units: 1 });
    const held = heldSettling();
    const hf = virtual.service(held.acts);
    hf.on(keyed, 'h', async ({ n }, ctx) => {
      if (n === 2) await ctx.commit(async (tx) => tx.record(n));
    });
    await virtual.start(hf);
    await virtual.send(async (tx) => {
      for (const n of [1, 2]) await hf.send(tx, keyed, { k: `k${n}`, n });
    });
    await virtual.time.advance(1_000);
    expect(virtual.store.recorded()).toEqual([2]);
    held.goOn();
  });
});

describe('a worker whose heartbeats do not arrive', () => {
  /** From then on no heartbeat is answered: each call fails after the five seconds that a store gives it, or hangs. */
  function silenced(hangs: boolean): { acts: Acts; silence: () => void } {
    let isSilent = false;
    const away = (): Promise<never> =>
      new Promise((_, reject) => {
        const fail = (): void => reject(new Error('away'));
        if (hangs) hung.push(fail);
        else virtual.time.setTimer(fail, 5_000);
      });
    const acts: Acts = (session) => ({
      beat: (...args) => (isSilent ? away() : session.beat(...args)),
      survey: (...args) => (isSilent ? away() : session.survey(...args)),
    });
    return { acts, silence: () => void (isSilent = true) };
  }

  test.for([
    ['fails', false],
    ['hangs', true],
  ] as const)(
    'starts nothing from four fifths of its lease on, and at its end drops its shards and aborts what runs, where each %s',
    async ([, hangs]) => {
      virtual = new VirtualService();
      const quiet = silenced(hangs);
      const started: number[] = [];
      const aborted: unknown[] = [];
      const hf = virtual.service(quiet.acts);
      hf.on(noted, 'h', ({ n }, { signal }) => {
        started.push(n);
        return n === 1
          ? new Promise((_, reject) =>
              signal.addEventListener('abort', () => {
                aborted.push(signal.reason);
                reject(new Error('aborted'));
              }),
            )
          : undefined;
      });
      await virtual.start(hf, SLOW);
      await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
      await virtual.time.advance(100);
      quiet.silence();
      await virtual.time.advance(7_000);
      await virtual.send((tx) => hf.send(tx, noted, { n: 2 }));
      await virtual.time.advance(100);
      expect([started, aborted], 'within its lease it works').toEqual([[1, 2], []]);
      // Its last heartbeat was up to two seconds before it fell silent.
      await virtual.time.advance(1_900);
      await virtual.send((tx) => hf.send(tx, noted, { n: 3 }));
      await virtual.time.advance(100);
      expect([started, aborted], 'in the last fifth it starts nothing, and what runs goes on').toEqual([[1, 2], []]);
      await virtual.time.advance(3_000);
      expect(started).toEqual([1, 2]);
      expect(aborted).toMatchObject([{ code: 'DELIVERY_TAKEN' }]);
      expect(virtual.kinds('units-lost')).toMatchObject([{ why: 'buried', units: { length: 5 } }]);
    },
  );
});

test('what was read while a worker doubted its lease starts when its heartbeats arrive again', async () => {
  virtual = new VirtualService();
  let isSilent = false;
  const started: number[] = [];
  const hf = virtual.service((session) => ({
    beat: (...args) => (isSilent ? Promise.reject(new Error('away')) : session.beat(...args)),
  }));
  hf.on(noted, 'h', ({ n }) => void started.push(n));
  await virtual.start(hf, SLOW);
  isSilent = true;
  await virtual.time.advance(8_500);
  await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
  await virtual.time.advance(100);
  expect(started).toEqual([]);
  isSilent = false;
  await virtual.time.advance(2_500);
  expect([started, virtual.kinds('units-lost')]).toEqual([[1], []]);
});

test('messages that came while others shared a commit are next when it is over', async () => {
  virtual = new VirtualService({ units: 1 });
  const first = Promise.withResolvers<void>();
  let commits = 0;
  const hf = virtual.service((session) => ({
    commit: async (...args) => {
      commits += 1;
      if (commits === 1) await first.promise;
      return session.commit(...args);
    },
  }));
  hf.project(noted, 'h', ({ n }, tx) => tx.record(n), { concurrency: 1 });
  await virtual.start(hf);
  for (const n of [1, 2]) {
    await virtual.send((tx) => hf.send(tx, noted, { n }));
    await virtual.time.advance(100);
  }
  expect(commits).toBe(1);
  first.resolve();
  await virtual.time.advance(100);
  expect(virtual.store.recorded()).toEqual([1, 2]);
});

describe('a shard that is lost and owned again at once, by the same worker', () => {
  /** Once, the database names no shard of this worker: the answer after it does. */
  function losing(more: Acts = () => ({})): { acts: Acts; lose: () => void } {
    let isLost = false;
    const acts: Acts = (session) => ({
      ...more(session),
      survey: async (...args) => {
        const survey = await session.survey(...args);
        if (!isLost) return survey;
        isLost = false;
        return { ...survey, owned: [] };
      },
    });
    return { acts, lose: () => void (isLost = true) };
  }

  test('does not start a message whose run still goes on, nor what comes after it in its key', async () => {
    virtual = new VirtualService();
    const lost = losing();
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const hf = virtual.service(lost.acts);
    hf.on(keyed, 'h', ({ n }) => {
      started.push(n);
      // It does not listen to its signal.
      return started.length === 1 ? new Promise<void>((resolve) => ends.push(resolve)) : undefined;
    });
    await virtual.start(hf, SLOW);
    await virtual.send(async (tx) => {
      for (const n of [1, 2]) await hf.send(tx, keyed, { k: 'k', n });
    });
    await virtual.time.advance(100);
    lost.lose();
    await virtual.time.advance(5_000);
    expect([virtual.kinds('units-lost').length, started], 'it owns the shard again').toEqual([1, [1]]);
    for (const end of ends) end();
    await virtual.time.advance(5_000);
    expect(started, 'what came of the first run did not count').toEqual([1, 1, 2]);
    expect(virtual.store.deliveries()).toEqual([]);
  });

  test('forgets what was queued: a result that is late starts nothing of it', async () => {
    virtual = new VirtualService();
    const held = heldSettling();
    const lost = losing(held.acts);
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const hf = virtual.service(lost.acts);
    const handle = ({ n }: { n: number }): unknown => {
      started.push(n);
      if (started.length === 1) throw new Error('cannot');
      return n === 1 ? new Promise<void>((resolve) => ends.push(resolve)) : undefined;
    };
    hf.on(keyed, 'h', handle, { onDead: 'pass', policy: { maxAttempts: 1 }, breaker: false });
    await virtual.start(hf, SLOW);
    await virtual.send(async (tx) => {
      for (const n of [1, 2]) await hf.send(tx, keyed, { k: 'k', n });
    });
    await virtual.time.advance(100);
    expect([started, held.settling()], 'the second waits until the dead letter is written').toEqual([[1], 1]);
    lost.lose();
    await virtual.time.advance(2_000);
    expect(started, 'the first runs again: nothing was written').toEqual([1, 1]);
    held.goOn();
    await virtual.time.advance(2_000);
    expect(started, 'the dead letter is written, and the first still runs').toEqual([1, 1]);
    for (const end of ends) end();
    await virtual.time.advance(2_000);
    expect(started).toEqual([1, 1, 2]);
  });
});

test('a result that the database refuses is a dead letter, with an event like any other: alerts and logs are made of these', async () => {
  virtual = new VirtualService();
  const hf = virtual.service((session) => ({
    settle: async (workerId, settlements, ...rest) => {
      const refused = settlements.filter(({ kind }) => kind === 'done');
      if (refused.length === 0) return session.settle(workerId, settlements, ...rest);
      const failed = new Map(refused.map(({ seq }) => [seq, new Error('a trigger forbids it')]));
      return { settled: new Set(), lostUnits: new Set(), failed };
    },
  }));
  hf.on(keyed, 'h', () => undefined, { onDead: 'pass' });
  await virtual.start(hf);
  await virtual.send(async (tx) => void (await hf.send(tx, keyed, { k: 'k', n: 1 })));
  await virtual.time.advance(1_000);
  expect(virtual.store.deliveries()).toMatchObject([{ state: 'failed', error: { code: 'SETTLE_FAILED' } }]);
  expect(virtual.kinds('run-failed')).toMatchObject([
    {
      handler: 'h',
      attempt: 1,
      maxAttempts: 5,
      error: { code: 'SETTLE_FAILED', message: 'a trigger forbids it' },
      next: { kind: 'dead', reason: 'settle-failed', dlqId: expect.stringMatching(/:\d+$/) },
    },
  ]);
});
