import { describe, expect, test } from 'vitest';
import { finish, ledgerStore } from '../../test/idempotency/faulty-store.ts';
import { ask, watched } from '../../test/idempotency/watched.ts';
import { virtualTime, type VirtualTime } from '../testing/virtual-time.ts';
import type { OpenRun } from './entry.ts';
import type { IdempotencyEvent } from './idempotency-event.ts';
import { idempotency } from './idempotency.ts';
import { memoryIdempotency } from './memory-idempotency.ts';

describe('a slow run', () => {
  test('keeps its claim by a sign of life every third of the lease, for as long as it takes [X.15]', async () => {
    const { another, idem, letIn, store, time } = watched({ maxRunMs: 3_600_000 });
    const run = await letIn({ leaseMs: 9_000 });
    await time.advance(2_999);
    expect(store.asked).toEqual(['claim']);
    await time.advance(1);
    expect(store.asked).toEqual(['claim', 'renew']);
    await time.advance(597_000);
    expect(store.asked.filter((call) => call === 'renew')).toHaveLength(200);
    expect(await another().enter(ask({ unknown: 'take' }))).toMatchObject({ kind: 'running' });
    expect(await run.end(finish('"x"'))).toBe('ended');
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
    await time.advance(0);
    expect(time.pendingTimers).toBe(0);
  });

  test('is not forgotten while it runs, however short its record is kept after it [X.15]', async () => {
    const { another, idem, letIn, time } = watched({ keepMs: 1_000, leaseMs: 30_000 });
    const run = await letIn();
    for (const ms of [9_000, 60_000]) {
      await time.advance(ms);
      expect(await another().enter(ask({ unknown: 'take' }))).toMatchObject({ kind: 'running' });
    }
    await run.end(finish('"x"'));
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
    await time.advance(1_000);
    expect(await idem.enter(ask())).toMatchObject({ kind: 'run' });
  });

  test('outlives a store that does not answer its signs of life, and asks more often meanwhile', async () => {
    const { another, kinds, letIn, store, time } = watched();
    const run = await letIn();
    const { signal } = run;
    store.faults.renew = 'reject';
    await time.advance(20_000);
    expect(store.asked.filter((call) => call === 'renew')).toHaveLength(5);
    await time.advance(60_000);
    delete store.faults.renew;
    expect(await another().enter(ask())).toMatchObject({ kind: 'unknown' });
    await time.advance(2_500);
    // Nobody has taken over: the claim holds again.
    expect(await another().enter(ask({ unknown: 'take' }))).toMatchObject({ kind: 'running' });
    expect(signal.aborted).toBe(false);
    expect(await run.end(finish('"x"'))).toBe('ended');
    expect(kinds()).not.toContain('lost');
  });

  test('whose claim was taken is told so by its signal, and asks no more', async () => {
    const { another, events, letIn, store, time } = watched();
    const run = await letIn();
    const { signal } = run;
    store.faults.renew = 'hang';
    await time.advance(30_000);
    await another().enter(ask({ unknown: 'take' }));
    delete store.faults.renew;
    await time.advance(5_000);
    expect(signal.reason).toMatchObject({ code: 'IDEMPOTENCY_LATE', details: { domain: 'POST /orders' } });
    expect(events.filter((event) => event.kind === 'lost')).toMatchObject([{ run: 1, why: 'taken' }]);
    const renewals = store.asked.filter((call) => call === 'renew').length;
    await run.end({ kind: 'release' });
    await time.advance(8_000);
    // Only those of the run that has taken over.
    expect(store.asked.filter((call) => call === 'renew').length - renewals).toBe(1);
  });

  test('that takes longer than maxRunMs is told so, and ends all the same if it can', async () => {
    const { events, idem, letIn, store, time } = watched({ maxRunMs: 25_000 });
    const run = await letIn();
    await time.advance(25_000);
    expect(run.signal.reason).toMatchObject({ code: 'IDEMPOTENCY_RUN_TOO_LONG', details: { maxRunMs: 25_000 } });
    expect(events.at(-1)).toMatchObject({ kind: 'lost', why: 'too-long', runMs: 25_000 });
    expect(time.pendingTimers).toBe(0);
    await time.advance(60_000);
    expect(store.asked.filter((call) => call === 'renew')).toHaveLength(2);
    expect(await idem.enter(ask())).toMatchObject({ kind: 'unknown' });
    expect(await run.end(finish('"x"'))).toBe('ended');
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
  });

  test('that has lost its claim lets those go on who wait for it in its process', async () => {
    const { another, idem, letIn, time } = watched({ maxRunMs: 1_000 });
    await letIn();
    const waiting = idem.enter(ask({ waitMs: 100_000, unknown: 'take' }));
    await time.advance(29_000);
    expect(await another().enter(ask())).toMatchObject({ kind: 'running' });
    await time.advance(1_300);
    expect(await waiting).toMatchObject({ kind: 'run' });
  });
});

describe('the end of a run', () => {
  test('counts once: the first, however often it is said', async () => {
    const { idem, kinds, letIn, store } = watched();
    const run = await letIn();
    const ends = [run.end(finish('"first"')), run.end(finish('"second"')), run.end({ kind: 'release' })];
    expect(await Promise.all(ends)).toEqual(['ended', 'ended', 'ended']);
    expect(store.asked).toEqual(['claim', 'end finish']);
    expect(await idem.enter(ask())).toMatchObject({ reply: { head: '"first"' } });
    expect(kinds()).toEqual(['first', 'finished', 'replayed']);
  });

  test.each([
    [{ kind: 'release' } as const, 'run', 'released'],
    [{ kind: 'doubt' } as const, 'unknown', 'doubted'],
    [{ ...finish('"e"'), status: 'failed' } as const, 'finished', 'finished'],
  ])('%j leads to %s and is told as %s', async (end, next, told) => {
    const { events, idem, letIn, time } = watched();
    const run = await letIn();
    await time.advance(5);
    await run.end(end);
    expect(events.at(-1)).toMatchObject({ kind: told, run: 1, runMs: 5 });
    expect(await idem.enter(ask())).toMatchObject({ kind: next });
  });

  test('takes the timer away, also while a sign of life is under way', async () => {
    const { kinds, letIn, store, time } = watched();
    const run = await letIn();
    store.faults.renew = 500;
    await time.advance(10_100);
    await run.end(finish('"x"'));
    await time.advance(1_000);
    // The answer came after the end and says that the claim is over, as it is.
    expect(kinds()).toEqual(['first', 'finished']);
    expect(time.pendingTimers).toBe(0);
  });

  test('in a record that vanished meanwhile is kept all the same', async () => {
    const { idem, letIn, time } = watched({ keepMs: 1_000, leaseMs: 1_000, maxRunMs: 100 });
    const run = await letIn();
    await time.advance(2_000);
    expect(await run.end(finish('"x"'))).toBe('ended');
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
  });
});

describe('commit', () => {
  interface Ledger {
    readonly time: VirtualTime;
    readonly ledger: string[];
    readonly run: OpenRun<string[]>;
    readonly idem: ReturnType<typeof idempotency<string[]>>;
    readonly events: IdempotencyEvent[];
  }
  async function withLedger(): Promise<Ledger> {
    const time = virtualTime();
    const store = ledgerStore(memoryIdempotency({ effects: time }));
    const events: IdempotencyEvent[] = [];
    const observers = [(event: IdempotencyEvent): unknown => events.push(event)] as never;
    const idem = idempotency<string[]>({ store, service: 'orders', effects: time, observers });
    const entry = await idem.enter(ask());
    if (entry.kind !== 'run') throw new Error(entry.kind);
    return { time, ledger: store.ledger, run: entry.run, idem, events };
  }
  const effect =
    (name: string) =>
    async (tx: string[]): Promise<{ value: string; end: ReturnType<typeof finish> }> => {
      tx.push(name);
      return { value: name, end: finish(`"${name}"`) };
    };

  test('ends the run with its effects, and the end that is said afterwards changes nothing [X.15]', async () => {
    const { events, idem, ledger, run, time } = await withLedger();
    expect(idem.canCommit).toBe(true);
    expect(await run.commit(effect('charged'))).toBe('charged');
    expect(ledger).toEqual(['charged']);
    expect(await run.end({ kind: 'release' })).toBe('ended');
    expect(await idem.enter(ask())).toMatchObject({ reply: { head: '"charged"' } });
    expect(events.map(({ kind }) => kind)).toEqual(['first', 'finished', 'replayed']);
    expect(time.pendingTimers).toBe(0);
  });

  test('that throws keeps nothing, and the run goes on: it may be committed again', async () => {
    const { events, ledger, run, time } = await withLedger();
    const failing = run.commit(async (tx) => {
      tx.push('half');
      throw new Error('no funds');
    });
    await expect(failing).rejects.toThrow('no funds');
    expect(ledger).toEqual([]);
    await time.advance(60_000);
    expect(await run.commit(effect('charged'))).toBe('charged');
    expect(events.map(({ kind }) => kind)).toEqual(['first', 'finished']);
  });

  test('that the handler did not wait for is waited for by the end of the run', async () => {
    const { idem, ledger, run, time } = await withLedger();
    const committing = run.commit(async (tx) => {
      await new Promise<void>((wake) => time.setTimer(wake, 100));
      return effect('charged')(tx);
    });
    const ended = run.end({ kind: 'release' });
    expect(await time.settle(ended)).toBe('ended');
    await committing;
    expect(ledger).toEqual(['charged']);
    expect(await idem.enter(ask())).toMatchObject({ kind: 'finished' });
  });

  test('may be called once: another one at the same time or after the end writes nothing', async () => {
    const { ledger, run } = await withLedger();
    const both = await Promise.allSettled([run.commit(effect('one')), run.commit(effect('two'))]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(both[1]).toMatchObject({ reason: { code: 'IDEMPOTENCY_RUN_ENDED' } });
    const { run: other, ledger: second } = await withLedger();
    await other.end({ kind: 'release' });
    await expect(other.commit(effect('late'))).rejects.toMatchObject({ code: 'IDEMPOTENCY_RUN_ENDED' });
    expect([...ledger, ...second]).toEqual(['one']);
  });

  test('of a run whose claim was taken is refused, and nothing is kept [X.15]', async () => {
    const { events, idem, ledger, run, time } = await withLedger();
    const { signal } = run;
    await time.advance(16 * 60_000);
    expect(await idem.enter(ask({ unknown: 'take' }))).toMatchObject({ kind: 'run' });
    await expect(run.commit(effect('slow'))).rejects.toMatchObject({ code: 'IDEMPOTENCY_LATE' });
    await expect(run.commit(effect('slow'))).rejects.toMatchObject({ code: 'IDEMPOTENCY_LATE' });
    expect(await run.end(finish('"slow"'))).toBe('late');
    expect(ledger).toEqual([]);
    expect(signal.aborted).toBe(true);
    expect(events.filter(({ kind }) => kind === 'late')).toHaveLength(1);
  });

  test('that the store fails is told, and is not the end of the run', async () => {
    const time = virtualTime();
    const events: IdempotencyEvent[] = [];
    const store = ledgerStore(memoryIdempotency({ effects: time }));
    let isDown = true;
    const shaky: typeof store = {
      ...store,
      commit: (claim, work) => (isDown ? Promise.reject(new Error('down')) : store.commit(claim, work)),
    };
    const observers = [(event: IdempotencyEvent): void => void events.push(event)];
    const entry = await idempotency<string[]>({ store: shaky, service: 's', effects: time, observers }).enter(ask());
    if (entry.kind !== 'run') throw new Error(entry.kind);
    await expect(entry.run.commit(effect('x'))).rejects.toThrow('down');
    expect(events.at(-1)).toMatchObject({ kind: 'store-failed', during: 'commit' });
    isDown = false;
    expect(await entry.run.commit(effect('x'))).toBe('x');
  });

  test('is refused where the store has no transactions, and so is a plain transaction', async () => {
    const { idem, letIn } = watched();
    const run = await letIn();
    expect(idem.canCommit).toBe(false);
    await expect(run.commit(effect('x'))).rejects.toMatchObject({ code: 'IDEMPOTENCY_NOT_ATOMIC' });
    await expect(idem.transaction(async () => 1)).rejects.toMatchObject({ code: 'IDEMPOTENCY_NOT_ATOMIC' });
  });

  test('has a plain transaction beside it, for what is not guarded', async () => {
    const { idem, ledger } = await withLedger();
    expect(await idem.transaction(async (tx) => tx.push('free'))).toBe(1);
    expect(ledger).toEqual(['free']);
  });
});

test('keys for calls to others are the same in every run of a request, and others for each step and request', async () => {
  const { letIn } = watched();
  const [one, two] = [await letIn(), await letIn({ key: 'k2' })];
  const keys = [one.childKey('mail'), one.childKey('charge'), two.childKey('mail')];
  expect(new Set(keys).size).toBe(3);
  for (const key of keys) expect(key).toMatch(/^[\w-]{43}$/);
  expect(one.childKey('mail')).toBe(keys[0]);
});
