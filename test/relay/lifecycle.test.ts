import { describe, expect } from 'vitest';
import { event } from '../../src/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from './service.ts';

const test = needs('postgres');
const placed = event<{ n: number }>('order.placed');

describe('a relay', () => {
  test('that stops lets what runs end, and gives everything back [X.18]', async ({ postgres }) => {
    const service = await testService(postgres);
    const entered = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    service.hf.on(placed, 'slow', async () => {
      entered.resolve();
      await mayEnd.promise;
    });
    const relay = await service.start();
    await service.inTransaction((tx) => service.hf.send(tx, placed, { n: 1 }));
    await entered.promise;
    const stopped = relay.stop();
    mayEnd.resolve();
    await stopped;
    await relay.stop();
    expect(await service.column('select attempts from $.delivered')).toEqual([1]);
    expect(await service.column('select count(*)::int from $.lease where owner is not null')).toEqual([0]);
    expect(await service.column('select count(*)::int from $.worker')).toEqual([0]);
  });

  test('that stops does not wait for ever: what was cut off is not counted and is handled elsewhere [X.18]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const entered = Promise.withResolvers<void>();
    const attempts: number[] = [];
    let reason: unknown;
    service.hf.on(placed, 'slow', async (_, { attempt, signal }) => {
      attempts.push(attempt);
      if (attempts.length > 1) return;
      entered.resolve();
      await new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason;
          reject(signal.reason as Error);
        });
      });
    });
    const relay = await service.start();
    await service.inTransaction((tx) => service.hf.send(tx, placed, { n: 1 }));
    await entered.promise;
    await relay.stop({ drainMs: 10 });
    expect(reason).toMatchObject({ code: 'RELAY_STOPPED' });
    expect(await service.column('select attempts from $.delivery')).toEqual([0]);
    await service.start();
    await expect.poll(() => attempts).toEqual([1, 1]);
  });

  test('shares the work with others that come, and takes theirs over when they leave', async ({ postgres }) => {
    const service = await testService(postgres);
    service.hf.on(placed, 'note', () => undefined);
    const first = await service.start();
    const owners = 'select count(*)::int from $.lease where unit >= 0 group by owner order by owner';
    expect(await service.column(owners)).toEqual([32]);
    const second = await service.start();
    await expect.poll(() => service.column(owners)).toEqual([16, 16]);
    await first.stop();
    await expect.poll(() => service.column(owners)).toEqual([32]);
    await second.stop();
  });

  test('shares at once, however seldom it looks round: who comes and who goes is told, and so is a run that ended late', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const entered = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    service.hf.on(placed, 'slow', async () => {
      entered.resolve();
      await mayEnd.promise;
    });
    // A look-round every six minutes.
    const leaseMs = 3_600_000;
    const first = await service.start({ leaseMs });
    for (let n = 0; n < 100; n += 1) await service.inTransaction((tx) => service.hf.send(tx, placed, { n }));
    await entered.promise;
    const second = await service.start({ leaseMs });
    // Something runs in most units: each is given when that has ended.
    mayEnd.resolve();
    const owners = 'select count(*)::int from $.lease where unit >= 0 group by owner order by owner';
    await expect.poll(() => service.column(owners)).toEqual([16, 16]);
    await first.stop();
    await expect.poll(() => service.column(owners)).toEqual([32]);
    await second.stop();
  });

  test('shares what is busy, not only what rests: few keys that have all the work are not left to the one that came first', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const keyed = event<{ key: string }>('order.keyed', { key: ({ key }) => key });
    const seen: string[] = [];
    service.hf.on(keyed, 'note', ({ key }) => void seen.push(key));
    await service.start();
    // Their units are 25, 31, 16, 27 and 18 of 32.
    const keys = ['k1', 'k2', 'k3', 'k5', 'k6'];
    for (const key of keys) await service.inTransaction((tx) => service.hf.send(tx, keyed, { key }));
    await expect.poll(() => seen.length).toBe(keys.length);
    await service.start();
    await expect
      .poll(() => service.column('select count(*)::int from $.lease where unit >= 0 group by owner'))
      .toEqual([16, 16]);
    const busy = `select count(*)::int from $.lease where unit % 32 in (25, 31, 16, 27, 18) and unit >= 0 group by owner`;
    expect(await service.column(`${busy} order by 1`)).toEqual([2, 3]);
  });

  test('runs only the handlers that were selected, and others run the rest [S0.11]', async ({ postgres }) => {
    const service = await testService(postgres);
    const seen: string[] = [];
    for (const name of ['a', 'b']) service.hf.on(placed, name, () => void seen.push(name));
    await service.start({ handlers: ['a'] });
    await service.inTransaction((tx) => service.hf.send(tx, placed, { n: 1 }));
    await expect.poll(() => seen).toEqual(['a']);
    await service.start({ handlers: ['b'] });
    await service.inTransaction((tx) => service.hf.send(tx, placed, { n: 2 }));
    await expect.poll(() => seen.toSorted()).toEqual(['a', 'a', 'b']);
  });

  test('of another service on the same database gets its own copy of each message [X.17]', async ({ postgres }) => {
    const service = await testService(postgres);
    const seen: string[] = [];
    const billing = service.another({ service: 'billing' });
    service.hf.on(placed, 'note', (_, { source }) => void seen.push(`orders from ${source}`));
    billing.on(placed, 'note', (_, { source }) => void seen.push(`billing from ${source}`));
    await service.start();
    await service.start({ of: billing });
    await service.inTransaction((tx) => service.hf.send(tx, placed, { n: 1 }));
    await expect.poll(() => seen.toSorted()).toEqual(['billing from orders', 'orders from orders']);
  });

  test('that is paused starts nothing until it is resumed [X.18]', async ({ postgres }) => {
    const service = await testService(postgres);
    const seen: number[] = [];
    service.hf.on(placed, 'note', ({ n }) => void seen.push(n));
    const relay = await service.start();
    await service.column('update $.meta set is_paused = true');
    // The look-round has seen it once the lanes of this worker are told as paused twice in a row.
    const rounds = async (): Promise<unknown> =>
      (await service.column('select extract(epoch from max(expires_at)) from $.worker'))[0];
    const before = await rounds();
    await expect.poll(rounds).not.toEqual(before);
    await service.inTransaction((tx) => service.hf.send(tx, placed, { n: 1 }));
    await relay.whenIdle();
    expect(seen).toEqual([]);
    await service.column('update $.meta set is_paused = false');
    await expect.poll(() => seen).toEqual([1]);
  });
});

describe('a message for later', () => {
  test('is handled when its time has come, and not before', async ({ postgres }) => {
    const service = await testService(postgres);
    const seen: { n: number; late: boolean }[] = [];
    let due = new Date();
    service.hf.on(placed, 'note', ({ n }) => void seen.push({ n, late: Date.now() >= due.getTime() }));
    await service.start();
    due = new Date(Date.now() + 2_000);
    await service.inTransaction(async (tx) => {
      await service.hf.send(tx, placed, { n: 1 }, { deliverAt: due });
      await service.hf.send(tx, placed, { n: 2 });
    });
    await expect
      .poll(() => seen)
      .toEqual([
        { n: 2, late: false },
        { n: 1, late: true },
      ]);
  });
});

describe('pinned generations', () => {
  test('each worker handles messages of its own generation, both at once [S4.5]', async ({ postgres }) => {
    const service = await testService(postgres);
    const seen: string[] = [];
    const deployments = [1, 2].map((generation) => service.another({ generation, pinned: true }));
    for (const [i, hf] of deployments.entries()) {
      hf.on(placed, 'note', ({ n }, ctx) => void seen.push(`${n}: message of ${ctx.generation} at ${i + 1}`));
      await service.start({ of: hf });
    }
    for (const [i, hf] of deployments.entries()) {
      await service.inTransaction((tx) => hf.send(tx, placed, { n: i + 1 }));
    }
    await expect.poll(() => seen.toSorted()).toEqual(['1: message of 1 at 1', '2: message of 2 at 2']);
  });

  test('publishing keeps the order of a key across generations: any worker publishes, also for one that has none', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const moved = event<{ n: number }>('order.moved', { key: () => 'k' });
    const transport = transportOf(localBroker());
    const [old, next] = [1, 2].map((generation) => service.another({ generation, pinned: true, transport }));
    if (!old || !next) throw new Error('two deployments');
    const seen: number[] = [];
    const elsewhere = service.another({ service: 'elsewhere', transport });
    elsewhere.on(moved, 'note', ({ n }) => void seen.push(n));
    await service.start({ of: elsewhere });
    const first = await service.start({ of: old });
    await service.inTransaction((tx) => old.send(tx, moved, { n: 0 }));
    await expect.poll(() => seen).toEqual([0]);
    await first.stop();
    await service.inTransaction((tx) => old.send(tx, moved, { n: 1 }));
    await service.start({ of: next });
    for (const n of [2, 3]) await service.inTransaction((tx) => next.send(tx, moved, { n }));
    await expect.poll(() => seen).toEqual([0, 1, 2, 3]);
  });

  test('a message whose generation nobody serves waits, is reported, and is handled once one does [S4.5]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const [old, next] = [1, 2].map((generation) => service.another({ generation, pinned: true }));
    if (!old || !next) throw new Error('two deployments');
    const seen: number[] = [];
    for (const hf of [old, next]) hf.on(placed, 'note', ({ n }) => void seen.push(n));
    await service.start({ of: old });
    await service.inTransaction((tx) => next.send(tx, placed, { n: 2 }));
    await expect
      .poll(() => service.events.flatMap((told) => (told.kind === 'house' ? told.report.unserved : [])).at(-1))
      .toMatchObject({ reason: 'generation-unserved', generation: 2, count: 1 });
    expect(seen).toEqual([]);
    await service.start({ of: next });
    await expect.poll(() => seen).toEqual([2]);
  });
});

describe('backpressure', () => {
  test('senders are refused above the limit, with the transaction still usable, and taken again below it [X.18]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const mayEnd = Promise.withResolvers<void>();
    service.hf.on(placed, 'slow', () => mayEnd.promise);
    await service.start({ maxPending: 3 });
    await service.inTransaction(async (tx) => {
      for (let n = 1; n <= 4; n += 1) await service.hf.send(tx, placed, { n });
    });
    await expect.poll(() => service.column('select is_full from $.meta')).toEqual([true]);
    await service.inTransaction(async (tx) => {
      await expect(service.hf.send(tx, placed, { n: 5 })).rejects.toMatchObject({ code: 'OUTBOX_FULL' });
      await tx.query(`insert into "${service.schema}".effect values ('kept', 1)`);
    });
    expect(await service.column('select id from $.effect')).toEqual(['kept']);
    mayEnd.resolve();
    await expect.poll(() => service.column('select is_full from $.meta')).toEqual([false]);
  });
});
