import { afterEach, describe, expect, test } from 'vitest';
import { event } from '../outbox/event.ts';
import { type Acts, keyed, noted, VirtualService } from '../../test/support/virtual-service.ts';

// The database is polled once a minute here: what happens within milliseconds happens because the reader was woken.
const SOON_MS = 100;

const ONE_TRY_LATER = { policy: { maxAttempts: 2, baseDelayMs: 1_000, maxDelayMs: 1_000, jitter: 'none' } } as const;

const counting =
  (note: (rows: number) => void): Acts =>
  (session) => ({
    read: async (request) => {
      const answer = await session.read(request);
      note(answer.ready.length);
      return answer;
    },
  });

const untilAborted = (_: unknown, { signal }: { signal: AbortSignal }): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', resolve));

let virtual: VirtualService;
afterEach(() => virtual.end());

describe('a reader that sleeps is woken', () => {
  test('by a notification, when a message is committed', async () => {
    virtual = new VirtualService();
    const handled: number[] = [];
    const hf = virtual.service();
    hf.on(noted, 'h', ({ n }) => void handled.push(n));
    await virtual.start(hf);
    await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
    await virtual.time.advance(SOON_MS);
    expect(handled).toEqual([1]);
  });

  test('by itself, for a message that was sent before it fell asleep and is committed afterwards', async () => {
    virtual = new VirtualService();
    const handled: number[] = [];
    const [first, second] = [virtual.service(), virtual.service()];
    for (const hf of [first, second]) hf.on(noted, 'h', ({ n }) => void handled.push(n));
    const running = await virtual.start(first);
    await virtual.time.settle(running.stop());
    // Nobody sleeps yet who would be woken.
    const tx = virtual.store.begin();
    await first.send(tx, noted, { n: 1 });
    virtual.time.setTimer(() => tx.commit(), 500);
    await virtual.start(second);
    expect(handled).toEqual([1]);
  });

  test('when a retry that it wrote itself is due, though it went to sleep before the result was written', async () => {
    virtual = new VirtualService();
    const triedAtMs: number[] = [];
    const hf = virtual.service();
    const fail = (): void => {
      triedAtMs.push(virtual.time.monoMs());
      if (triedAtMs.length === 1) throw new Error('not yet');
    };
    // Five seconds: by then the reader sleeps, and the result of the attempt is written behind its back.
    hf.on(
      noted,
      'h',
      () => new Promise((resolve) => virtual.time.setTimer(() => resolve(undefined), 5_000)).then(fail),
      {
        ...ONE_TRY_LATER,
        breaker: false,
      },
    );
    await virtual.start(hf);
    await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
    await virtual.time.advance(5_000 + 1_000 + 5_000 + SOON_MS);
    expect(triedAtMs).toHaveLength(2);
  });

  test('when units are acquired: what another worker left behind is handled at once', async () => {
    virtual = new VirtualService();
    const handled: number[] = [];
    const [first, second] = [virtual.service(), virtual.service()];
    for (const hf of [first, second]) hf.on(noted, 'h', ({ n }) => void handled.push(n));
    const running = await virtual.start(first);
    await virtual.start(second);
    await virtual.time.settle(running.stop());
    // Committed between the first worker's end and the second one's next look.
    await virtual.send(async (tx) => {
      for (let n = 0; n < 40; n += 1) await first.send(tx, noted, { n });
    });
    await virtual.time.advance(SOON_MS * 2);
    expect(handled).toHaveLength(40);
  });

  test('when a unit can be loaded again: what a refused commit left open runs at once', async () => {
    virtual = new VirtualService();
    let commits = 0;
    const hf = virtual.service((session) => ({
      // Its row was being changed when the first commit came.
      commit: async (...args) => ((commits += 1) === 1 ? 'refused' : session.commit(...args)),
    }));
    hf.on(noted, 'h', ({ n }, ctx) => ctx.commit(async (tx) => tx.record(n)));
    await virtual.start(hf);
    await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
    await virtual.time.advance(500);
    expect(virtual.store.recorded()).toEqual([1]);
  });

  test('when there is room again: a backlog is worked off without a pause between reads', async () => {
    virtual = new VirtualService({ units: 2 });
    let handled = 0;
    let lastAtMs = 0;
    const hf = virtual.service();
    const handle = async (): Promise<void> => {
      await new Promise<void>((resolve) => virtual.time.setTimer(resolve, 1));
      handled += 1;
      lastAtMs = virtual.time.monoMs();
    };
    hf.on(noted, 'h', handle, { concurrency: 64 });
    await virtual.send(async (tx) => {
      for (let n = 0; n < 24_000; n += 1) await hf.send(tx, noted, { n });
    });
    const beganMs = virtual.time.monoMs();
    await virtual.start(hf);
    expect(handled).toBe(24_000);
    // 64 at once for a millisecond each; a reader that slept on would pause up to 250 ms after each 2,048 of them.
    expect(lastAtMs - beganMs).toBeLessThan((24_000 / 64) * 1.2);
  });
});

test('a reader that sleeps says so again with each poll: a database that crashed has forgotten it', async () => {
  virtual = new VirtualService();
  let dozes = 0;
  const hf = virtual.service((session) => ({
    doze: async (workerId) => {
      dozes += 1;
      await session.doze(workerId);
    },
  }));
  hf.on(noted, 'h', () => undefined);
  await virtual.start(hf);
  expect(dozes).toBe(1);
  await virtual.time.advance(3 * 60_000);
  expect(dozes).toBeGreaterThan(2);
});

describe('what is read ahead is bounded', () => {
  test('in rows, over all handlers', async () => {
    virtual = new VirtualService({ units: 1 });
    let rows = 0;
    const hf = virtual.service(counting((count) => (rows += count)));
    const kinds = Array.from({ length: 12 }, (_, n) => n).map((n) => event<{ n: number }>(`kind-${n}`));
    for (const kind of kinds) hf.on(kind, kind.type, untilAborted, { concurrency: 1 });
    await virtual.start(hf);
    // One after the other, so that each is the only one to ask for a full read.
    for (const kind of kinds) {
      await virtual.send(async (tx) => {
        for (let n = 0; n < 3_000; n += 1) await hf.send(tx, kind, { n });
      });
      await virtual.time.advance(1_000);
    }
    expect(rows, 'enough that handlers need not wait for the database').toBeGreaterThanOrEqual(2_048);
    // The limit, and a little for handlers that had nothing when it was reached. Without it these were 6,300.
    expect(rows).toBeLessThanOrEqual(4_096 + 12 * 64);
  });

  test('in characters, and no later read adds to it', async () => {
    virtual = new VirtualService({ units: 2, inlineChars: 1_000_000 });
    let rows = 0;
    const hf = virtual.service(counting((count) => (rows += count)));
    hf.on(noted, 'h', untilAborted, { concurrency: 1 });
    const text = 'x'.repeat(100_000);
    await virtual.send(async (tx) => {
      for (let n = 0; n < 3_000; n += 1) await hf.send(tx, noted, { n, text });
    });
    await virtual.start(hf);
    await virtual.time.advance(120_000);
    // The limit is 336 of these; the first read, which cannot know how large rows are, may bring 2,048.
    expect(rows).toBeLessThanOrEqual(2_048);
  });
});

describe('what is due and cannot be started yet', () => {
  const LARGE = 100_000;
  /** About as many large messages as may be in memory, over all handlers. */
  const ENOUGH = (32 * 1024 * 1024) / LARGE;

  /** Large messages that have become due, of handlers that never end; as many of each as is said. */
  async function dueOf(counts: readonly number[]): Promise<{ readonly given: ReadonlyMap<string, Set<number>> }> {
    virtual = new VirtualService({ units: 1, inlineChars: 1_000_000 });
    const given = new Map<string, Set<number>>();
    const hf = virtual.service((session) => ({
      read: async (request) => {
        const answer = await session.read(request);
        for (const { type, seq } of answer.due) given.set(type, (given.get(type) ?? new Set()).add(seq));
        return answer;
      },
    }));
    const kinds = counts.map((count, n) => ({ count, kind: event<{ n: number; text: string }>(`kind-${n}`) }));
    for (const { kind } of kinds) hf.on(kind, kind.type, untilAborted, { concurrency: 1 });
    const text = 'x'.repeat(LARGE);
    for (const [n, { count, kind }] of kinds.entries()) {
      const deliverAt = new Date(virtual.time.now().wallMs + 20_000 + n);
      await virtual.send(async (tx) => {
        for (let at = 0; at < count; at += 1) await hf.send(tx, kind, { n: at, text }, { deliverAt });
      });
    }
    await virtual.start(hf);
    await virtual.time.advance(60_000);
    return { given };
  }

  test('is bounded too, over all handlers', async () => {
    const { given } = await dueOf([500, 500, 500]);
    const rows = [...given.values()].reduce((all, { size }) => all + size, 0);
    // What the read that reached the limit brought is above it, and as little for each that was below its share of it then.
    expect(rows).toBeLessThanOrEqual(ENOUGH + 256 + 3 * 64);
  });

  test('takes no room from a handler that is below its share', async () => {
    const { given } = await dueOf([500, 100]);
    expect(given.get('kind-1')?.size).toBe(100);
  });
});

describe('retries and fresh messages', () => {
  test('a retry that is due runs under a steady load of fresh messages', async () => {
    virtual = new VirtualService({ units: 1 });
    const runs: string[] = [];
    let n = 0;
    const hf = virtual.service();
    const sendMore = (): Promise<void> =>
      virtual.send(async (tx) => {
        for (let i = 0; i < 50; i += 1) await hf.send(tx, keyed, { k: `fresh-${(n += 1)}`, n });
      });
    const handle = async ({ k }: { k: string }): Promise<void> => {
      runs.push(k);
      await new Promise((resolve) => virtual.time.setTimer(() => resolve(undefined), 100));
      if (k === 'unlucky' && runs.filter((one) => one === k).length === 1) throw new Error('first attempt');
    };
    hf.on(keyed, 'h', handle, { ...ONE_TRY_LATER, concurrency: 2, breaker: false });
    await virtual.start(hf);
    await virtual.send((tx) => hf.send(tx, keyed, { k: 'unlucky', n: 0 }));
    // Two at once for 100 ms each: of 50 more each second, 30 are left over.
    for (let second = 0; second < 20; second += 1) {
      await sendMore();
      await virtual.time.advance(1_000);
    }
    expect(runs.filter((one) => one === 'unlucky')).toHaveLength(2);
    expect(virtual.store.deliveries().length, 'fresh messages never ran out').toBeGreaterThan(400);
  });

  test('many retries that are due leave fresh messages most of the slots', async () => {
    virtual = new VirtualService({ units: 1 });
    let isDown = true;
    const runs: string[] = [];
    const hf = virtual.service();
    const handle = async ({ k }: { k: string }): Promise<void> => {
      runs.push(k);
      if (isDown) throw new Error('down');
      await new Promise((resolve) => virtual.time.setTimer(() => resolve(undefined), 100));
    };
    hf.on(keyed, 'h', handle, { ...ONE_TRY_LATER, concurrency: 4, breaker: false });
    await virtual.start(hf);
    await virtual.send(async (tx) => {
      for (let n = 0; n < 200; n += 1) await hf.send(tx, keyed, { k: `old-${n}`, n });
    });
    await virtual.time.advance(500);
    isDown = false;
    runs.length = 0;
    await virtual.send(async (tx) => {
      for (let n = 0; n < 200; n += 1) await hf.send(tx, keyed, { k: `new-${n}`, n });
    });
    await virtual.time.advance(3_000);
    const fresh = runs.filter((one) => one.startsWith('new')).length;
    // From the second on in which the retries are due, one slot of four is theirs.
    expect(fresh).toBeGreaterThan(80);
    expect(runs.length - fresh, 'and retries get on').toBeGreaterThan(15);
  });
});
