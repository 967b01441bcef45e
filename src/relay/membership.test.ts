import { afterEach, describe, expect, test } from 'vitest';
import { type Acts, NEVER_POLLS, noted, VirtualService } from '../../test/support/virtual-service.ts';

// Heartbeats are minutes apart here, and a worker looks round every 750 ms: what happens sooner happens because it was woken.
const SOON_MS = 200;

let virtual: VirtualService;
afterEach(() => virtual.end());

/** How many of the handler's shards each worker owns, in the order of the workers. */
function sharesOf(workers: readonly { readonly workerId: string }[]): readonly number[] {
  const owners = Array.from({ length: 16 }, (_, shard) => virtual.store.lease(shard)?.owner);
  return workers.map(({ workerId }) => owners.filter((owner) => owner === workerId).length);
}

describe('a worker that waits for its next heartbeat is woken', () => {
  test('when another joins, and gives it its share', async () => {
    virtual = new VirtualService({ units: 8 });
    const [first, second] = [virtual.service(), virtual.service()];
    for (const hf of [first, second]) hf.on(noted, 'h', () => undefined);
    const one = await virtual.start(first);
    expect(sharesOf([one])).toEqual([8]);
    const two = await virtual.time.settle(second.start({ effects: virtual.time, ...NEVER_POLLS }));
    await virtual.time.advance(SOON_MS);
    expect(sharesOf([one, two])).toEqual([4, 4]);
  });

  test('when another leaves, and takes what that one had', async () => {
    virtual = new VirtualService({ units: 8 });
    const [first, second] = [virtual.service(), virtual.service()];
    for (const hf of [first, second]) hf.on(noted, 'h', () => undefined);
    const one = await virtual.start(first);
    const two = await virtual.start(second);
    await virtual.time.settle(one.stop());
    await virtual.time.advance(SOON_MS);
    expect(sharesOf([two])).toEqual([8]);
  });

  test('when others were faster, and left some of what it reached for', async () => {
    virtual = new VirtualService({ units: 8 });
    let isLate = false;
    const first = virtual.service();
    const second = virtual.service((session) => ({
      acquire: async (workerId, wanted) => {
        const some = isLate ? wanted.slice(0, 1) : wanted;
        isLate = false;
        return session.acquire(workerId, some);
      },
    }));
    for (const hf of [first, second]) hf.on(noted, 'h', () => undefined);
    const one = await virtual.start(first);
    const two = await virtual.start(second);
    isLate = true;
    await virtual.time.settle(one.stop());
    await virtual.time.advance(SOON_MS);
    expect(sharesOf([two])).toEqual([8]);
  });

  test('when what ran in a shard that it is to give back has ended', async () => {
    virtual = new VirtualService({ units: 2 });
    const ends: (() => void)[] = [];
    const [first, second] = [virtual.service(), virtual.service()];
    for (const hf of [first, second]) hf.on(noted, 'h', () => new Promise<void>((resolve) => ends.push(resolve)));
    const one = await virtual.start(first);
    await virtual.send(async (tx) => {
      for (let n = 0; n < 40; n += 1) await first.send(tx, noted, { n });
    });
    await virtual.time.advance(SOON_MS);
    const two = await virtual.start(second);
    expect(sharesOf([one, two]), 'messages run in both shards').toEqual([2, 0]);
    const running = ends.length;
    for (const end of ends.splice(0)) end();
    await virtual.time.advance(SOON_MS);
    expect(running).toBeGreaterThan(0);
    expect(sharesOf([one, two])).toEqual([1, 1]);
    for (const end of ends) end();
  });

  test('when a write is refused, and finds out what it owns', async () => {
    virtual = new VirtualService();
    const runs: number[] = [];
    let refusals = 0;
    // Once the database says that the lease is lost, and then again that it is not: as after a failover that took a while.
    const acts: Acts = (session) => ({
      settle: async (workerId, settlements) => {
        refusals += 1;
        if (refusals > 1) return session.settle(workerId, settlements);
        return { settled: new Set(), lostUnits: new Set(settlements.map(({ token }) => token.unit)) };
      },
    });
    const hf = virtual.service(acts);
    hf.on(noted, 'h', ({ n }) => void runs.push(n));
    await virtual.start(hf);
    await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
    await virtual.time.advance(SOON_MS);
    expect(runs).toEqual([1, 1]);
    expect(virtual.store.deliveries()).toEqual([]);
  });
});

test('a worker whose commit is refused looks at once whether it still lives', async () => {
  virtual = new VirtualService();
  let isExpired = false;
  const hf = virtual.service((session) => ({
    commit: async (workerId, ...rest) => {
      if (isExpired) return session.commit(workerId, ...rest);
      isExpired = true;
      await session.leave(workerId);
      return 'refused';
    },
  }));
  hf.on(noted, 'h', ({ n }, ctx) => ctx.commit(async (tx) => tx.record(n)));
  const running = await virtual.start(hf);
  const before = running.workerId;
  await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
  await virtual.time.advance(SOON_MS);
  expect(running.workerId).not.toBe(before);
  await virtual.time.advance(1_000);
  expect(virtual.store.recorded()).toEqual([1]);
});

test('a limit that an operator has raised starts what was queued', async () => {
  virtual = new VirtualService({ units: 1 });
  const started: number[] = [];
  let limit = 1;
  const hf = virtual.service((session) => ({
    survey: async (workerId) => ({ ...(await session.survey(workerId)), limits: [{ lane: 1, limit }] }),
  }));
  hf.on(noted, 'h', ({ n }, { signal }) => {
    started.push(n);
    return new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  await virtual.start(hf);
  await virtual.send(async (tx) => {
    for (const n of [1, 2, 3]) await hf.send(tx, noted, { n });
  });
  await virtual.time.advance(1_000);
  expect(started).toEqual([1]);
  limit = 2;
  await virtual.time.advance(1_000);
  expect(started).toEqual([1, 2]);
});

test('a worker that was expired joins again under another name, and takes up its work', async () => {
  virtual = new VirtualService();
  const handled: number[] = [];
  let isExpired = false;
  const acts: Acts = (session) => ({
    beat: async (workerId, ...rest) => {
      if (!isExpired) return session.beat(workerId, ...rest);
      isExpired = false;
      await session.leave(workerId);
      return false;
    },
  });
  const hf = virtual.service(acts);
  hf.on(noted, 'h', ({ n }) => void handled.push(n));
  const running = await virtual.start(hf, { pollMs: 60_000, leaseMs: 10_000 });
  const before = running.workerId;
  isExpired = true;
  await virtual.time.advance(3_000);
  expect(running.workerId).not.toBe(before);
  await virtual.send((tx) => hf.send(tx, noted, { n: 1 }));
  await virtual.time.advance(SOON_MS);
  expect(handled).toEqual([1]);
});

test('a worker whose lease ran out joins again under another name, also where no other has expired it', async () => {
  virtual = new VirtualService();
  let isSilent = false;
  const hf = virtual.service((session) => ({
    beat: (...args) => (isSilent ? Promise.reject(new Error('away')) : session.beat(...args)),
    survey: (...args) => (isSilent ? Promise.reject(new Error('away')) : session.survey(...args)),
  }));
  hf.on(noted, 'h', () => undefined);
  const running = await virtual.start(hf, { pollMs: 60_000, leaseMs: 10_000 });
  const before = running.workerId;
  isSilent = true;
  await virtual.time.advance(12_000);
  isSilent = false;
  await virtual.time.advance(2_000);
  expect(running.workerId).not.toBe(before);
});
