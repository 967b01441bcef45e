import { describe, expect, test } from 'vitest';
import { type Fault, finish } from '../../test/idempotency/faulty-store.ts';
import { ask, watched } from '../../test/idempotency/watched.ts';
import { memoryIdempotency } from './memory-idempotency.ts';

const FAULTS: readonly Fault[] = ['reject', 'lose', 'hang', 'hold', 3_000];

describe.each(FAULTS)('a store that does not answer a claim (%s)', (fault) => {
  test('lets nobody in, within its time, and stands in nobody’s way when it is back [S1.3]', async () => {
    const { another, idem, kinds, store, time } = watched();
    store.faults.claim = fault;
    const down = await time.settle(idem.enter(ask()));
    expect(down).toMatchObject({ kind: 'store-down', error: expect.any(Error) as unknown });
    expect(time.now().monoMs).toBeLessThanOrEqual(2_000);
    expect(kinds()).toEqual(['store-failed claim', 'store-down']);
    await time.advance(1_500);
    delete store.faults.claim;
    store.goOn();
    await time.advance(200);
    // Neither running nor unknown: what may have been granted was taken back.
    expect(await another().enter(ask())).toMatchObject({ kind: 'run', run: { number: 1 } });
  });

  test('leaves no timer behind once all is told', async () => {
    const { idem, store, time } = watched();
    store.faults.claim = fault;
    await time.settle(idem.enter(ask()));
    delete store.faults.claim;
    await time.advance(1_000);
    store.goOn();
    await time.advance(40_000);
    expect(time.pendingTimers).toBe(0);
    expect(store.asked.length).toBeLessThanOrEqual(8);
  });
});

describe('a claim without an answer', () => {
  test('that is granted minutes later, when a hung store goes on, is taken back then', async () => {
    const { another, idem, store, time } = watched();
    store.faults.claim = 'hold';
    await time.settle(idem.enter(ask()));
    await time.advance(600_000);
    delete store.faults.claim;
    store.goOn();
    await time.advance(10);
    expect(await another().enter(ask())).toMatchObject({ kind: 'run' });
  });

  test('that a server acts on after it has lost its client, and has answered others, is taken back as well', async () => {
    const { another, store, time } = watched();
    for (const afterMs of [50, 500, 5_000]) {
      const cut: typeof store = {
        ...store,
        claim: (claim) => {
          time.setTimer(() => void store.claim(claim), afterMs);
          return Promise.reject(new Error('ECONNRESET'));
        },
      };
      expect(await another({ store: cut }).enter(ask())).toMatchObject({ kind: 'store-down' });
      await time.advance(29_000);
      const next = await another().enter(ask());
      expect(next).toMatchObject({ kind: 'run', run: { number: 1 } });
      if (next.kind === 'run') await next.run.end({ kind: 'release' });
      await time.advance(60_000);
    }
  });

  test('that was refused after all needs nothing taken back', async () => {
    const { another, idem, store, time } = watched();
    await another().enter(ask());
    store.faults.claim = 2_050;
    await time.settle(idem.enter(ask()));
    delete store.faults.claim;
    await time.advance(5_000);
    expect(store.asked.filter((call) => call.startsWith('end'))).toEqual([]);
    expect(await another().enter(ask())).toMatchObject({ kind: 'running' });
  });

  test('that may have taken over an unknown outcome leaves it unknown, and does not forget it', async () => {
    const { another, idem, letIn, store, time } = watched();
    await (await letIn()).end({ kind: 'doubt' });
    for (const fault of FAULTS) {
      store.faults.claim = fault;
      expect(await time.settle(idem.enter(ask({ unknown: 'take' })))).toMatchObject({ kind: 'store-down' });
      delete store.faults.claim;
      await time.advance(1_500);
      store.goOn();
      await time.advance(40_000);
      expect(await another().enter(ask())).toMatchObject({ kind: 'unknown' });
    }
    expect(time.pendingTimers).toBe(0);
  });

  test('that might have taken over, but met nothing, is in nobody’s way who may take over', async () => {
    for (const fault of FAULTS) {
      const { another, idem, store, time } = watched();
      store.faults.claim = fault;
      await time.settle(idem.enter(ask({ unknown: 'take' })));
      delete store.faults.claim;
      await time.advance(1_500);
      store.goOn();
      await time.advance(200);
      expect(await another().enter(ask({ unknown: 'take' }))).toMatchObject({ kind: 'run' });
    }
  });

  test('does not end a run that has taken its place meanwhile', async () => {
    const { another, idem, store, time } = watched();
    store.faults.claim = 'hang';
    const first = idem.enter(ask());
    await time.advance(0);
    delete store.faults.claim;
    const second = await another().enter(ask());
    await time.settle(first);
    await time.advance(20_000);
    if (second.kind !== 'run') throw new Error(second.kind);
    expect(await second.run.end(finish('"x"'))).toBe('ended');
    await time.advance(40_000);
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
  });

  test('is not asked about when the store has said that it is full', async () => {
    const { another, time } = watched();
    const store = memoryIdempotency({ maxRecords: 1, effects: time });
    const idem = another({ store });
    await idem.enter(ask());
    expect(await idem.enter(ask({ key: 'k2' }))).toMatchObject({
      kind: 'store-down',
      error: { code: 'IDEMPOTENCY_STORE_FULL' },
    });
    expect(time.pendingTimers).toBe(1);
  });
});

describe('when no store answers', () => {
  test('nothing runs, unless running unguarded was chosen, which is told [S1.3]', async () => {
    const { another, events, store, time } = watched();
    store.faults.claim = 'hang';
    const open = another({ whenStoreDown: 'run' });
    expect(await time.settle(open.enter(ask()))).toMatchObject({ kind: 'unguarded' });
    expect(events.at(-1)).toMatchObject({ kind: 'unguarded', error: { code: 'IDEMPOTENCY_STORE_TIMEOUT' } });
    expect(await time.settle(open.enter(ask({ whenStoreDown: 'refuse' })))).toMatchObject({ kind: 'store-down' });
    expect(await time.settle(another().enter(ask({ whenStoreDown: 'run' })))).toMatchObject({ kind: 'unguarded' });
  });

  test('those who wait are told within its time', async () => {
    const { another, letIn, store, time } = watched();
    await letIn();
    const waiting = another().enter(ask({ waitMs: 60_000 }));
    await time.advance(100);
    store.faults.claim = 'hang';
    expect(await time.settle(waiting)).toMatchObject({ kind: 'store-down' });
    expect(time.now().monoMs).toBeLessThanOrEqual(2_350);
  });

  test('records cannot be found or erased, and that is an error', async () => {
    const { idem, kinds, store, time } = watched();
    store.faults.find = 'hang';
    store.faults.erase = 'reject';
    const name = { domain: 'd', key: 'k', person: null };
    await expect(time.settle(idem.find(name))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_STORE_TIMEOUT',
      details: { call: 'find', timeoutMs: 2_000 },
    });
    await expect(idem.erase('ann')).rejects.toThrow('ECONNREFUSED');
    store.faults.erase = 'hang';
    await expect(time.settle(idem.erase('ann'))).rejects.toMatchObject({
      details: { call: 'erase', timeoutMs: 60_000 },
    });
    expect(kinds()).toEqual(['store-failed find', 'store-failed erase', 'store-failed erase']);
  });

  test('a store that throws or rejects with something else than an error is one that fails', async () => {
    const { another, store, time } = watched();
    const thrower = {
      ...store,
      claim: (): never => {
        throw new Error('not even a promise');
      },
    };
    expect(await another({ store: thrower }).enter(ask())).toMatchObject({ kind: 'store-down' });
    expect(time.pendingTimers).toBe(0);
    const odd = { ...store, claim: () => Promise.reject('gone') };
    expect(await another({ store: odd }).enter(ask())).toMatchObject({ kind: 'store-down', error: { cause: 'gone' } });
  });
});

describe.each(FAULTS)('a store that does not answer the end of a run (%s)', (fault) => {
  test('does not keep the caller waiting, and is told again until it has confirmed it [X.15]', async () => {
    const { another, events, kinds, letIn, store, time } = watched();
    const run = await letIn();
    store.faults.end = fault;
    expect(await time.settle(run.end(finish('"made"')))).toBe('unconfirmed');
    expect(time.now().monoMs).toBeLessThanOrEqual(2_000);
    expect(kinds()).toEqual(['first', 'store-failed end', 'unconfirmed']);
    // Longer than the lease: nobody has taken over, so it is still the end.
    await time.advance(120_000);
    delete store.faults.end;
    store.goOn();
    await time.advance(10_000);
    expect(await another().enter(ask())).toMatchObject({ kind: 'finished', reply: { head: '"made"' } });
    expect(events.filter(({ kind }) => kind === 'finished')).toHaveLength(1);
    expect(await run.end({ kind: 'release' })).toBe('unconfirmed');
    expect(time.pendingTimers).toBe(0);
  });
});

test.each<Fault>(['reject', 'hang', 'hold'])(
  'the end of a lost run that is told again (%s) never changes what another has done',
  async (fault) => {
    const { another, kinds, letIn, store, time } = watched();
    const run = await letIn();
    store.faults.end = fault;
    await time.settle(run.end(finish('"first"')));
    await time.advance(60_000);
    const taken = await another().enter(ask({ unknown: 'take' }));
    delete store.faults.end;
    store.goOn();
    await time.advance(10_000);
    expect(kinds()).toContain('late');
    if (taken.kind !== 'run') throw new Error(taken.kind);
    expect(await taken.run.end(finish('"second"'))).toBe('ended');
    expect(await another().enter(ask())).toMatchObject({ reply: { head: '"second"' } });
  },
);

describe('ends that are told again', () => {
  test('wake those who wait, who find out by themselves', async () => {
    const { idem, letIn, store, time } = watched();
    const run = await letIn();
    const waiting = idem.enter(ask({ waitMs: 10_000 }));
    await time.advance(10);
    store.faults.end = 'lose';
    await run.end(finish('"x"'));
    expect(await time.settle(waiting)).toMatchObject({ kind: 'finished' });
    expect(time.now().monoMs).toBe(10);
  });

  test('wait longer each time, up to five seconds, and stop when the record would have expired', async () => {
    const { letIn, store, time } = watched({ keepMs: 60_000 });
    const run = await letIn();
    store.faults.end = 'reject';
    await run.end(finish('"x"'));
    const times: number[] = [];
    for (let told = 1; time.now().monoMs < 70_000;) {
      await time.advance(100);
      if (store.asked.length > told + 1) times.push(time.now().monoMs);
      told = store.asked.length - 1;
    }
    expect(times.slice(0, 8)).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 11_400]);
    expect(times.at(-1)).toBeLessThan(60_000);
    expect(time.pendingTimers).toBe(0);
  });
});
