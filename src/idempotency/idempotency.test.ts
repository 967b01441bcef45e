import { describe, expect, test } from 'vitest';
import { finish } from '../../test/idempotency/faulty-store.ts';
import { ask, watched } from '../../test/idempotency/watched.ts';
import { sha256 } from '../system/sha256.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import type { Entry } from './entry.ts';
import { idempotency } from './idempotency.ts';
import { memoryIdempotency } from './memory-idempotency.ts';

describe('a request to run', () => {
  test('is let in once, then answered with what was kept, in one round trip each [S1.1] [S0.4]', async () => {
    const { idem, kinds, letIn, store } = watched();
    const run = await letIn();
    expect(run.number).toBe(1);
    expect(await run.end(finish('"made"'))).toBe('ended');
    expect(store.asked).toEqual(['claim', 'end finish']);
    const again = await idem.enter(ask());
    expect(again).toMatchObject({ kind: 'finished', status: 'completed', reply: { head: '"made"', body: undefined } });
    expect(store.asked).toHaveLength(3);
    expect(kinds()).toEqual(['first', 'finished', 'replayed']);
  });

  test('is another for another service, domain, person or key, and never sees the reply of one of those [S1.2]', async () => {
    const { another, idem } = watched();
    const entries: Entry<never>[] = [];
    for (const own of [{}, { domain: 'POST /refunds' }, { key: 'k2' }, { person: 'bob' }, { person: null }]) {
      const entry = await idem.enter(ask(own));
      entries.push(entry);
      if (entry.kind === 'run') await entry.run.end(finish('"x"'));
    }
    entries.push(await another({ service: 'billing' }).enter(ask()));
    expect(entries.map(({ kind }) => kind)).toEqual(Array.from(entries, () => 'run'));
  });

  test('with another fingerprint is a mismatch, also while the first runs, and nothing is touched [S1.2]', async () => {
    const { idem, kinds, letIn } = watched();
    const run = await letIn();
    expect(await idem.enter(ask({ fingerprint: 'f2', waitMs: 1_000 }))).toEqual({ kind: 'mismatch' });
    await run.end(finish('"made"'));
    expect(await idem.enter(ask({ fingerprint: 'f2' }))).toEqual({ kind: 'mismatch' });
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
    expect(kinds()).toEqual(['first', 'mismatch', 'finished', 'mismatch', 'replayed']);
  });

  test('while another runs is told so, with how long its lease lasts at most', async () => {
    const { idem, events, letIn, time } = watched();
    await letIn();
    await time.advance(4_000);
    expect(await idem.enter(ask())).toEqual({ kind: 'running', leaseLeftMs: 26_000 });
    expect(events.at(-1)).toMatchObject({ kind: 'in-flight', about: { domain: 'POST /orders', key: 'k1' } });
  });

  test('is forgotten with its record after keepMs, and runs again', async () => {
    const { letIn, time } = watched({ keepMs: 60_000 });
    await (await letIn()).end(finish('"x"'));
    await time.advance(60_000);
    expect((await letIn()).number).toBe(1);
  });

  test('that cannot be right is refused, all that is wrong at once', async () => {
    const { idem } = watched();
    const wrong = ask({ key: '', person: '', domain: undefined as never, leaseMs: 1 });
    await expect(idem.enter(wrong)).rejects.toThrow(
      /domain is undefined.*key is an empty.*person is an empty.*leaseMs/,
    );
    await expect(idem.enter(ask({ key: 'k'.repeat(256) }))).rejects.toThrow('key is a string of 256 characters');
    await expect(idem.enter(ask({ waitMs: Number.NaN }))).rejects.toThrow('waitMs is NaN');
  });
});

describe('200 callers at once with one key', () => {
  test('are one run and 199 replays of it, without a poll [S1.1] [X.15]', async () => {
    const { idem, kinds, store, time } = watched();
    let runs = 0;
    const call = async (): Promise<unknown> => {
      const entry = await idem.enter(ask({ waitMs: 10_000 }));
      if (entry.kind !== 'run') return entry.kind === 'finished' && entry.reply?.head;
      runs += 1;
      await new Promise<void>((wake) => time.setTimer(wake, 3_000));
      await entry.run.end(finish('"one"'));
      return '"one"';
    };
    const all = Promise.all(Array.from({ length: 200 }, call));
    expect(new Set(await time.settle(all))).toEqual(new Set(['"one"']));
    expect(runs).toBe(1);
    expect(time.now().monoMs).toBe(3_000);
    expect(store.asked.filter((one) => one === 'claim')).toHaveLength(399);
    expect(kinds().filter((kind) => kind === 'waited')).toHaveLength(199);
    expect(time.pendingTimers).toBe(0);
  });

  test('of whom each releases what it had are let in one after the other', async () => {
    const { idem, time } = watched();
    let [running, most, runs] = [0, 0, 0];
    const call = async (): Promise<void> => {
      const entry = await idem.enter(ask({ waitMs: 60_000 }));
      if (entry.kind !== 'run') throw new Error(entry.kind);
      runs += 1;
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((wake) => time.setTimer(wake, 10));
      running -= 1;
      await entry.run.end({ kind: 'release' });
    };
    await time.settle(Promise.all(Array.from({ length: 50 }, call)));
    expect([runs, most]).toEqual([50, 1]);
    expect(time.pendingTimers).toBe(0);
  });
});

describe('waiting', () => {
  test('for a run of another process polls after 25, 50, 100, 200 and then every 250 ms', async () => {
    const { another, letIn, store, time } = watched();
    const run = await letIn();
    const waiting = another().enter(ask({ waitMs: 5_000 }));
    const polls: number[] = [];
    for (let claims = store.asked.length; time.now().monoMs < 1_100;) {
      await time.advance(1);
      if (store.asked.length > claims) polls.push(time.now().monoMs);
      claims = store.asked.length;
    }
    expect(polls).toEqual([25, 75, 175, 375, 625, 875]);
    await run.end(finish('"x"'));
    expect(await time.settle(waiting)).toMatchObject({ kind: 'finished' });
    expect(time.now().monoMs).toBe(1_125);
    expect(time.pendingTimers).toBe(0);
  });

  test('ends after waitMs with what is known then', async () => {
    const { another, idem, events, letIn, time } = watched();
    await letIn();
    for (const one of [idem, another()]) {
      const before = time.now().monoMs;
      expect(await time.settle(one.enter(ask({ waitMs: 700 })))).toMatchObject({ kind: 'running' });
      expect(time.now().monoMs - before).toBe(700);
    }
    expect(events.filter((event) => event.kind === 'waited')).toMatchObject([{ waitedMs: 700 }, { waitedMs: 700 }]);
  });

  test('ends at once when the caller goes away, and leaves nothing behind', async () => {
    const { idem, letIn, store, time } = watched();
    await letIn();
    const gone = new AbortController();
    const waiting = idem.enter(ask({ waitMs: 60_000, signal: gone.signal }));
    await time.advance(100);
    const timers = time.pendingTimers;
    gone.abort();
    expect(await waiting).toMatchObject({ kind: 'running' });
    expect(time.pendingTimers).toBe(timers - 1);
    expect(await idem.enter(ask({ waitMs: 60_000, signal: gone.signal }))).toMatchObject({ kind: 'running' });
    expect(store.asked).toHaveLength(3);
  });

  test('for a run whose process has died ends when its lease does', async () => {
    const { another, letIn, store, time } = watched();
    const run = await letIn();
    expect(run.number).toBe(1);
    store.faults.renew = 'hang';
    const [told, taken] = [another().enter(ask({ waitMs: 60_000 })), another().enter(ask({ key: 'k2' }))];
    await taken;
    expect(await time.settle(told)).toEqual({ kind: 'unknown', number: 1 });
    expect(time.now().monoMs).toBeGreaterThanOrEqual(30_000);
    expect(time.now().monoMs).toBeLessThan(30_300);
  });
});

describe('a run whose process has died', () => {
  test('is an unknown outcome once its lease has ended, and stays one for all who do not take over [X.15]', async () => {
    const { another, events, store, time } = watched();
    await another().enter(ask());
    store.faults.renew = 'hang';
    await time.advance(29_999);
    const idem = another();
    expect(await idem.enter(ask())).toMatchObject({ kind: 'running', leaseLeftMs: 1 });
    await time.advance(1);
    for (let i = 0; i < 3; i++) expect(await idem.enter(ask())).toEqual({ kind: 'unknown', number: 1 });
    expect(events.at(-1)).toMatchObject({ kind: 'unknown', run: 1 });
  });

  test('is taken over by one of those who may, with the next number and the same keys for others [X.15]', async () => {
    const { another, idem, events, letIn, store, time } = watched();
    const lost = await letIn();
    store.faults.renew = 'hang';
    await time.advance(30_000);
    const takers = [idem, another(), another()].map((one) => one.enter(ask({ unknown: 'take' })));
    const entries = await Promise.all(takers);
    expect(entries.map(({ kind }) => kind).toSorted()).toEqual(['run', 'running', 'running']);
    const taken = entries.find((entry) => entry.kind === 'run');
    expect(taken?.run.number).toBe(2);
    expect(taken?.run.childKey('mail')).toBe(lost.childKey('mail'));
    expect(events.filter((event) => event.kind === 'taken-over')).toMatchObject([{ run: 2 }]);
  });

  test('and lives after all cannot change anything: its end is refused and told [X.15]', async () => {
    const { another, idem, events, kinds, letIn, store, time } = watched();
    const slow = await letIn();
    store.faults.renew = 'hang';
    await time.advance(30_000);
    const taken = await another().enter(ask({ unknown: 'take' }));
    expect(await slow.end(finish('"slow"'))).toBe('late');
    expect(events.at(-1)).toMatchObject({ kind: 'late', run: 1, runMs: 30_000 });
    if (taken.kind === 'run') await taken.run.end(finish('"second"'));
    expect(await slow.end(finish('"slow"'))).toBe('late');
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished', reply: { head: '"second"' } });
    expect(kinds().filter((kind) => kind === 'late')).toHaveLength(1);
  });
});

describe('records', () => {
  test('are found by whose they are, and show what became of them [S0.4]', async () => {
    const { idem, letIn } = watched();
    const run = await letIn();
    const name = { domain: 'POST /orders', key: 'k1', person: 'ann' };
    expect(await idem.find(name)).toMatchObject({ status: 'processing', run: 1, domain: 'POST /orders' });
    await run.end({ kind: 'doubt' });
    expect(await idem.find(name)).toMatchObject({ status: 'unknown', reply: null });
    expect(await idem.find({ ...name, person: 'bob' })).toBeUndefined();
  });

  test('hold neither the key nor the name of the person', async () => {
    const { idem, letIn } = watched();
    await (await letIn({ key: 'secret-key', person: 'ann@example.org' })).end(finish('"x"'));
    const found = await idem.find({ domain: 'POST /orders', key: 'secret-key', person: 'ann@example.org' });
    expect(JSON.stringify(found)).not.toMatch(/secret-key|ann@example/);
  });

  test('hold a digest of the request that no other record has, and every process makes the same [S1.2]', async () => {
    const { idem, letIn } = watched();
    const other = watched();
    const fingerprint = sha256('{"password":"hunter2"}');
    const found = new Set<string>();
    for (const one of [{ key: 'a' }, { key: 'b' }, { key: 'a', person: 'bob' }, { key: 'a', domain: 'd' }]) {
      const name = { domain: 'POST /orders', person: 'ann', ...one };
      await letIn({ ...one, fingerprint });
      await other.letIn({ ...one, fingerprint });
      const [mine, theirs] = [await idem.find(name), await other.idem.find(name)];
      expect(mine?.fingerprint).toBe(theirs?.fingerprint);
      found.add(mine?.fingerprint ?? '');
    }
    expect([found.size, found.has(fingerprint)]).toEqual([4, false]);
  });

  test('of a person are erased: what was answered is gone, that it was done is not', async () => {
    const { idem, letIn } = watched();
    await (await letIn()).end(finish('"x"'));
    await (await letIn({ person: 'bob' })).end(finish('"y"'));
    const running = await letIn({ key: 'k2' });
    expect(await idem.erase('ann')).toBe(2);
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished', reply: null });
    await running.end(finish('"z"'));
    expect(await idem.enter(ask({ key: 'k2' }))).toMatchObject({ kind: 'finished', reply: null });
    expect(await idem.enter(ask({ person: 'bob' }))).toMatchObject({ reply: { head: '"y"' } });
  });

  test('that expired are removed once a minute after a claim, and more often while there are many [S1.3]', async () => {
    const { idem, events, letIn, store, time } = watched({ keepMs: 10_000 });
    const reaps = (): number => store.asked.filter((call) => call === 'reap').length;
    for (let i = 0; i < 1_500; i++) await (await letIn({ key: `k${i}` })).end(finish('"x"'));
    expect(reaps()).toBe(0);
    await time.advance(30_000);
    await idem.enter(ask());
    await time.advance(999);
    await idem.enter(ask());
    expect(reaps()).toBe(1);
    await time.advance(1);
    await idem.enter(ask());
    expect(reaps()).toBe(2);
    await time.advance(59_999);
    await idem.enter(ask());
    expect(reaps()).toBe(2);
    await time.advance(1);
    store.faults.reap = 'reject';
    expect(await idem.enter(ask({ key: 'other' }))).toMatchObject({ kind: 'run' });
    await time.advance(0);
    expect(events.filter((event) => event.kind === 'reaped')).toMatchObject([{ count: 1_000 }, { count: 499 }]);
    expect(events.at(-1)).toMatchObject({ kind: 'store-failed', during: 'reap' });
  });
});

test('options of idempotency that cannot work are refused, all named', () => {
  const make = (): unknown =>
    idempotency({ store: {}, service: '', leaseMS: 1, keepMs: 0, whenStoreDown: 'open', observers: [1] } as never);
  expect(make).toThrow(
    /did you mean leaseMs.*store is an object.*service is an empty.*keepMs is 0.*whenStoreDown is "open".*observers/,
  );
});

test('what an observer throws is its own affair', async () => {
  const time = virtualTime();
  const store = memoryIdempotency({ effects: time });
  const broken = (): never => {
    throw new Error('broken');
  };
  const entry = await idempotency({ store, service: 's', effects: time, observers: [broken] }).enter(ask());
  expect(entry.kind).toBe('run');
});
