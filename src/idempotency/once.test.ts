import { describe, expect, expectTypeOf, test } from 'vitest';
import { ledgerStore } from '../../test/idempotency/faulty-store.ts';
import { watched } from '../../test/idempotency/watched.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import { type Idempotency, idempotency } from './idempotency.ts';
import { memoryIdempotency } from './memory-idempotency.ts';
import type { OnceRun } from './once.ts';

describe('once', () => {
  test('runs a function once for a key and gives everybody its value [S1.1]', async () => {
    const { idem, time } = watched();
    let runs = 0;
    const charge = async (): Promise<{ id: string; at: Date }> => {
      runs += 1;
      await new Promise<void>((wake) => time.setTimer(wake, 100));
      return { id: 'ch_1', at: new Date(0) };
    };
    const calls = Array.from({ length: 20 }, () => idem.once('order:1', charge, { waitMs: 1_000 }));
    const values = await time.settle(Promise.all(calls));
    // As JSON gives it back, to the first one too: nobody finds out about the date in production.
    expect(new Set(values.map((value) => JSON.stringify(value)))).toEqual(
      new Set(['{"id":"ch_1","at":"1970-01-01T00:00:00.000Z"}']),
    );
    expect(values.map((value) => typeof value.at)).toEqual(Array.from(values, () => 'string'));
    expect(runs).toBe(1);
    expect(time.pendingTimers).toBe(0);
  });

  test('gives back every kind of JSON, and nothing for nothing', async () => {
    const { idem } = watched();
    const values = [0, '', false, null, [], {}, 'ä\u2028\u0001', { a: [1, { b: null }] }, undefined, 1e21];
    for (const [i, value] of values.entries()) {
      for (let times = 0; times < 2; times++) expect(await idem.once(`k${i}`, async () => value)).toEqual(value);
    }
    expectTypeOf(idem.once('k', async () => ({ id: 1 }))).resolves.toEqualTypeOf<{ id: number }>();
  });

  test('refuses what it cannot run, each with an error of its own', async () => {
    const { another, idem, letIn, store, time } = watched();
    const work = async (): Promise<number> => 1;
    const running = await letIn({ domain: 'once', key: 'k', person: null, fingerprint: '' });
    await expect(idem.once('k', work)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_IN_FLIGHT',
      details: { domain: 'once', leaseLeftMs: 30_000 },
    });
    await running.end({ kind: 'doubt' });
    await expect(idem.once('k', work)).rejects.toMatchObject({ code: 'IDEMPOTENCY_UNKNOWN', details: { run: 1 } });
    await idem.once('k2', work, { input: { b: 1, a: 2 } });
    expect(await idem.once('k2', work, { input: { a: 2, b: 1 } })).toBe(1);
    await expect(idem.once('k2', work, { input: { a: 3 } })).rejects.toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' });
    await idem.once('k3', work, { person: 'ann', domain: 'charge' });
    await idem.erase('ann');
    const erased = another().once('k3', work, { person: 'ann', domain: 'charge' });
    await expect(erased).rejects.toMatchObject({ code: 'IDEMPOTENCY_NOT_KEPT', details: { domain: 'charge' } });
    store.faults.claim = 'hang';
    await expect(time.settle(idem.once('k4', work))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_STORE_DOWN',
      cause: { code: 'IDEMPOTENCY_STORE_TIMEOUT' },
    });
  });

  test('refuses an id that could not be read, and takes null for nobody in particular', async () => {
    const { idem } = watched();
    const user: { readonly id?: string } = {};
    const work = async (): Promise<number> => 1;
    await expect(idem.once('k', work, { person: user.id as string })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
    await expect(idem.once('k', work, { person: '' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await idem.once('k', work, { person: null })).toBe(1);
  });

  test('runs unguarded when no store answers and that was chosen, with the same keys for others', async () => {
    const { idem, store, time } = watched();
    const keys: string[] = [];
    const work = async (run: OnceRun<never>): Promise<string> => {
      keys.push(run.childKey('mail'));
      expect(run.signal.aborted).toBe(false);
      return `run ${run.number}`;
    };
    store.faults.claim = 'reject';
    expect(await idem.once('k', work, { whenStoreDown: 'run' })).toBe('run 1');
    delete store.faults.claim;
    await time.advance(1_000);
    expect(await idem.once('k', work)).toBe('run 1');
    expect(new Set(keys).size).toBe(1);
  });

  test('passes its options on to the claim', async () => {
    const { idem, time } = watched();
    await idem.once('k', async () => 1, { keepMs: 1_000 });
    await time.advance(1_000);
    expect(await idem.once('k', async () => 2)).toBe(2);
    const slow = idem.once('k2', async (run) => run.signal.aborted, { maxRunMs: 100, leaseMs: 100, waitMs: undefined });
    expect(await slow).toBe(false);
  });

  test('options that cannot work are refused before anything runs', async () => {
    const { idem, store } = watched();
    const wrong = idem.once('k', 1 as never, { onThrow: 'retry', unknown: 'go', waitMs: -1, onthrow: 1 } as never);
    await expect(wrong).rejects.toThrow(
      /the second argument is 1.*did you mean onThrow.*unknown is "go".*onThrow is "retry".*waitMs is -1/,
    );
    let deep: unknown = 1;
    for (let i = 0; i < 1_000; i++) deep = [deep];
    await expect(idem.once('k', async () => 1, { input: deep })).rejects.toThrow('input is an array');
    await expect(idem.once('', async () => 1)).rejects.toThrow('key is an empty string');
    expect(store.asked).toEqual([]);
  });
});

describe('a function of once that throws', () => {
  const failing = async (): Promise<number> => {
    throw Object.assign(new Error('card 4111 declined, token=sk_live_abcdefghijklmnop'), { code: 'declined' });
  };

  test('leaves nothing behind, and the next one runs', async () => {
    const { idem, kinds } = watched();
    await expect(idem.once('k', failing)).rejects.toMatchObject({ code: 'declined' });
    expect(await idem.once('k', async (run) => run.number)).toBe(1);
    expect(kinds()).toEqual(['first', 'released', 'first', 'finished']);
  });

  test('has that as its result where it is kept: everybody else gets an error that says so', async () => {
    const { idem } = watched();
    await expect(idem.once('k', failing, { onThrow: 'keep' })).rejects.toMatchObject({ code: 'declined' });
    let runs = 0;
    const again = idem.once('k', async () => (runs += 1), { onThrow: 'keep' });
    await expect(again).rejects.toMatchObject({
      code: 'IDEMPOTENCY_FAILED',
      message: expect.stringContaining('was run with this key before and failed: Error: card 4111 declined') as unknown,
    });
    await expect(again).rejects.not.toThrow('sk_live');
    expect(runs).toBe(0);
  });

  test('may throw anything, and it is kept', async () => {
    const unreadable = {
      toString: (): never => {
        throw new Error('unreadable');
      },
    };
    for (const thrown of [null, 'text', Object.create(null) as unknown, unreadable]) {
      const { idem } = watched();
      const odd = async (): Promise<number> => {
        throw thrown;
      };
      await expect(idem.once('k', odd, { onThrow: 'keep' })).rejects.toBe(thrown);
      await expect(idem.once('k', odd)).rejects.toMatchObject({ code: 'IDEMPOTENCY_FAILED' });
    }
  });

  test('leaves the outcome unknown where that is chosen', async () => {
    const { idem } = watched();
    await expect(idem.once('k', failing, { onThrow: 'doubt' })).rejects.toThrow('declined');
    await expect(idem.once('k', failing)).rejects.toMatchObject({ code: 'IDEMPOTENCY_UNKNOWN' });
  });
});

describe('a value of once that JSON cannot hold', () => {
  test.each([
    ['NaN', () => ({ a: [Number.NaN] }), 'the value.a.0 is NaN'],
    ['a bigint', () => 1n, 'a bigint'],
    ['a cycle', () => cycle(), 'in a circle'],
    ['more than a mebibyte', () => 'x'.repeat(1_048_577), '1048576 is the most'],
  ])('%s is refused, and what was done is not done again', async (_, make, problem) => {
    const { idem } = watched();
    let runs = 0;
    const work = async (): Promise<unknown> => {
      runs += 1;
      return make();
    };
    await expect(idem.once('k', work)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_VALUE_INVALID',
      message: expect.stringContaining(problem) as unknown,
    });
    await expect(idem.once('k', work, { unknown: 'rerun' })).rejects.toMatchObject({ code: 'IDEMPOTENCY_NOT_KEPT' });
    expect(runs).toBe(1);
  });

  function cycle(): unknown {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    return circle;
  }
});

describe('a run of once that was lost', () => {
  async function afterLoss(): Promise<ReturnType<typeof watched>> {
    const found = watched();
    await found.letIn({ domain: 'once', key: 'k', person: null, fingerprint: '' });
    found.store.faults.renew = 'hang';
    await found.time.advance(30_000);
    return found;
  }

  test('is refused by default, and run again where that is safe [X.15]', async () => {
    const { another } = await afterLoss();
    const idem = another();
    await expect(idem.once('k', async () => 1)).rejects.toMatchObject({ code: 'IDEMPOTENCY_UNKNOWN' });
    expect(await idem.once('k', async (run) => run.number, { unknown: 'rerun' })).toBe(2);
  });

  test('is found out by a function that is asked while nobody else can run [X.15]', async () => {
    const { another, time } = await afterLoss();
    let asked = 0;
    const unknown = async (run: { number: number; childKey(step: string): string }): Promise<{ value: string }> => {
      asked += 1;
      await new Promise<void>((wake) => time.setTimer(wake, 100));
      return { value: `found by ${run.number}` };
    };
    const work = async (): Promise<string> => 'ran again';
    const all = Promise.all([1, 2, 3].map(() => another().once('k', work, { unknown, waitMs: 1_000 })));
    expect(await time.settle(all)).toEqual(['found by 2', 'found by 2', 'found by 2']);
    expect(asked).toBe(1);
    expect(await another().once('k', work)).toBe('found by 2');
  });

  test('runs again when that function says so, and stays unknown when it cannot tell [X.15]', async () => {
    const { another } = await afterLoss();
    const idem = another();
    const work = async (run: { number: number }): Promise<number> => run.number;
    const refuse = idem.once('k', work, { unknown: async () => 'refuse' });
    await expect(refuse).rejects.toMatchObject({ code: 'IDEMPOTENCY_UNKNOWN', details: { run: 2 } });
    const broken = idem.once('k', work, { unknown: () => Promise.reject(new Error('cannot look')) });
    await expect(broken).rejects.toThrow('cannot look');
    await expect(idem.once('k', work)).rejects.toMatchObject({ code: 'IDEMPOTENCY_UNKNOWN' });
    const silent = idem.once('k', work, { unknown: async () => undefined as never });
    await expect(silent).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await idem.once('k', work, { unknown: async () => 'rerun' })).toBe(5);
  });

  test('is not asked about when nothing was lost', async () => {
    const { idem } = watched();
    const unknown = (): Promise<'refuse'> => Promise.reject(new Error('asked'));
    expect(await idem.once('k', async () => 1, { unknown })).toBe(1);
  });

  test('and lives after all gets the value of the one that has taken over [X.15]', async () => {
    const { another, idem, store, time } = watched();
    const slow = idem.once('k', async () => {
      await new Promise<void>((wake) => time.setTimer(wake, 40_000));
      return 'slow';
    });
    store.faults.renew = 'hang';
    await time.advance(31_000);
    expect(await another().once('k', async () => 'quick', { unknown: 'rerun' })).toBe('quick');
    await time.advance(10_000);
    expect(await slow).toBe('quick');
  });

  test('and lives after all has its own value when the other one has done nothing, and none when nobody knows', async () => {
    const ask = { domain: 'once', key: 'k', person: null, fingerprint: '', unknown: 'take' } as const;
    for (const kind of ['release', 'doubt'] as const) {
      const { idem, letIn, store, time } = watched();
      const slow = idem.once('k', async () => {
        await new Promise<void>((wake) => time.setTimer(wake, 40_000));
        return 'slow';
      });
      store.faults.renew = 'hang';
      await time.advance(31_000);
      await (await letIn(ask)).end({ kind });
      const outcome = slow.catch((error: Error) => error.message);
      await time.advance(10_000);
      expect(await outcome).toContain(kind === 'release' ? 'slow' : 'lost its claim');
    }
  });
});

describe('commit in once', () => {
  function withLedger(): { idem: Idempotency<string[]>; ledger: string[] } {
    const effects = virtualTime();
    const store = ledgerStore(memoryIdempotency({ effects }));
    return { idem: idempotency<string[]>({ store, service: 's', effects }), ledger: store.ledger };
  }

  test('keeps its value with its effects, and that is what everybody gets [X.15]', async () => {
    const { idem, ledger } = withLedger();
    const work = async (run: OnceRun<string[]>): Promise<{ id: number }> => {
      const made = await run.commit(async (tx) => ({ id: tx.push('order') }));
      expectTypeOf(made).toEqualTypeOf<{ id: number }>();
      return { id: made.id + 100 };
    };
    expect(await idem.once('k', work)).toEqual({ id: 1 });
    expect(await idem.once('k', work)).toEqual({ id: 1 });
    expect(ledger).toEqual(['order']);
  });

  test('rolls back a value that cannot be kept: nothing was done, and it may be done again', async () => {
    const { idem, ledger } = withLedger();
    const bad = idem.once('k', (run) =>
      run.commit(async (tx) => {
        tx.push('order');
        return Number.NaN;
      }),
    );
    await expect(bad).rejects.toMatchObject({ code: 'IDEMPOTENCY_VALUE_INVALID' });
    expect(ledger).toEqual([]);
    expect(await idem.once('k', (run) => run.commit(async (tx) => tx.push('order')))).toBe(1);
  });

  test('counts, even when the function throws afterwards', async () => {
    const { idem, ledger } = withLedger();
    const work = async (run: OnceRun<string[]>): Promise<number> => {
      await run.commit(async (tx) => tx.push('order'));
      throw new Error('the mail was not sent');
    };
    await expect(idem.once('k', work)).rejects.toThrow('mail');
    expect(await idem.once('k', work)).toBe(1);
    expect(ledger).toEqual(['order']);
  });

  test('is a plain transaction where no store answered and running unguarded was chosen', async () => {
    const effects = virtualTime();
    const store = ledgerStore(memoryIdempotency({ effects }));
    const down = { ...store, claim: (): never => failed() };
    const idem = idempotency<string[]>({ store: down, service: 's', effects, whenStoreDown: 'run' });
    expect(await idem.once('k', (run) => run.commit(async (tx) => tx.push('order')))).toBe(1);
    expect(store.ledger).toEqual(['order']);
    function failed(): never {
      throw new Error('down');
    }
  });
});
