import { HOUSE_UNIT } from '../../relay/relay-store.ts';
import { promise } from './contract-case.ts';
import type { ContractCase } from './contract-harness.ts';
import { handler, must, mustEqual } from './contract-kit.ts';

/** What workers are promised about who owns what. */
export function leaseCases(): readonly ContractCase[] {
  return [...joining(), ...taking(), ...givingBack(), ...dying()];
}

function joining(): readonly ContractCase[] {
  return [
    promise('a handler has the same lane for every worker, and no unit is in two lanes', async (kit) => {
      const [a, b] = [
        await kit.join({ handlers: [handler('x'), handler('y')] }),
        await kit.join({ handlers: [handler('y')] }),
      ];
      mustEqual(b.lanes, a.lanes.slice(1), 'the same lane as for the other worker');
      const units = a.lanes.flatMap(({ firstUnit, unitCount }) =>
        Array.from({ length: unitCount }, (_, i) => firstUnit + i),
      );
      mustEqual(new Set(units).size, units.length, 'lanes share no unit');
      const other = await kit.join({ handlers: [handler('x')], service: 'elsewhere' });
      must(other.lanes[0]?.lane !== a.lanes[0]?.lane, 'a handler of that name in another service is another one');
    }),
    promise(
      'a look-round shows the live workers with their lanes, and the free units of the own lanes',
      async (kit) => {
        const a = await kit.join({ handlers: [handler('x')] });
        const b = await kit.join({ handlers: [handler('y')] });
        const { workers, free, pausedLanes } = await a.session.survey(a.id);
        mustEqual(
          workers.map(({ id, lanes }) => JSON.stringify([id, lanes])).sort(),
          [a, b].map(({ id, lanes }) => JSON.stringify([id, lanes.map(({ lane }) => lane)])).sort(),
          'all who live, with what they serve',
        );
        const [lane] = a.lanes;
        must(lane !== undefined, 'a worker is told its lanes');
        const own = Array.from({ length: lane?.unitCount ?? 0 }, (_, i) => (lane?.firstUnit ?? 0) + i);
        mustEqual(
          free.map(({ unit }) => unit).sort((m, n) => m - n),
          [HOUSE_UNIT, ...own],
          'what is free: the units of its lane, and the house',
        );
        must(
          free.every(({ isOrphaned }) => !isOrphaned),
          'what nobody has owned is not orphaned',
        );
        mustEqual(pausedLanes, [], 'nothing is paused');
      },
    ),
    promise('a paused handler, and how many runs of one an operator allows, are told to the workers', async (kit) => {
      const worker = await kit.own({ handlers: [handler('x'), handler('y')] });
      await kit.harness.pause('y');
      const { pausedLanes, limits } = await worker.session.survey(worker.id);
      mustEqual(pausedLanes, [worker.lanes[1]?.lane], 'its lane is paused, the other is not');
      mustEqual(limits, [], 'nothing is limited unless somebody says so');
      await kit.harness.limit('x', 7);
      const after = await worker.session.survey(worker.id);
      mustEqual(after.limits, [{ lane: worker.lanes[0]?.lane, limit: 7 }], 'its lane is limited, the other is not');
    }),
  ];
}

function taking(): readonly ContractCase[] {
  return [
    promise('a unit that was taken has a higher epoch and is not free any more', async (kit) => {
      const worker = await kit.join();
      const { free } = await worker.session.survey(worker.id);
      const [unit] = free.slice(-1);
      const [token] = await worker.session.acquire(worker.id, unit ? [unit] : []);
      must(token?.unit === unit?.unit && (token?.epoch ?? 0) > (unit?.epoch ?? 0), 'the epoch is raised');
      const after = await worker.session.survey(worker.id);
      mustEqual(after.free.length, free.length - 1, 'one less is free');
      must(!after.free.some((other) => other.unit === unit?.unit), 'it is the one that was taken');
      mustEqual(after.owned, [token], 'and it is shown as owned, with its epoch');
    }),
    promise('a unit is taken only if its epoch is the one that was seen', async (kit) => {
      const [a, b] = [await kit.join(), await kit.join()];
      const { free } = await b.session.survey(b.id);
      await a.acquireAll();
      mustEqual(await b.session.acquire(b.id, free), [], 'the other was first');
      await a.session.release(a.id, [...a.tokens.values()]);
      mustEqual(await b.session.acquire(b.id, free), [], 'and what was seen is long over');
    }),
    promise('of two that reach for a unit at once, one gets it', async (kit) => {
      const [a, b] = [await kit.join(), await kit.join()];
      const { free } = await a.session.survey(a.id);
      const taken = await Promise.all([a.session.acquire(a.id, free), b.session.acquire(b.id, free.toReversed())]);
      const units = taken.flat().map(({ unit }) => unit);
      mustEqual(new Set(units).size, units.length, 'no unit went to both');
    }),
  ];
}

function givingBack(): readonly ContractCase[] {
  return [
    promise('a unit that was given back is free and clean, and its old token is worth nothing', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      const delivery = await worker.readOne();
      await worker.session.release(worker.id, [...worker.tokens.values()]);
      const { free } = await worker.session.survey(worker.id);
      mustEqual(free.length, worker.tokens.size, 'all of it is free');
      must(
        free.every(({ isOrphaned }) => !isOrphaned),
        'and clean',
      );
      const { settled, lostUnits } = await worker.settle(worker.done(delivery));
      mustEqual([settled.size, [...lostUnits]], [0, [delivery.unit]], 'a result under the old token is refused');
    }),
    promise('an old token gives nothing back', async (kit) => {
      const worker = await kit.own();
      const old = [...worker.tokens.values()];
      await worker.session.release(worker.id, old);
      await worker.acquireAll();
      await worker.session.release(worker.id, old);
      mustEqual((await worker.session.survey(worker.id)).free, [], 'the new ownership stands');
    }),
    promise('a token of another worker gives nothing back', async (kit) => {
      const [a, b] = [await kit.own(), await kit.join()];
      await b.session.release(b.id, [...a.tokens.values()]);
      mustEqual((await b.session.survey(b.id)).free, [], 'its owner keeps it');
    }),
    promise('a worker that leaves gives everything back and is not among the living', async (kit) => {
      const [a, b] = [await kit.own(), await kit.join()];
      await a.session.leave(a.id);
      const { workers, free } = await b.session.survey(b.id);
      mustEqual(
        workers.map(({ id }) => id),
        [b.id],
        'it is gone',
      );
      mustEqual(
        [free.length, free.some(({ isOrphaned }) => isOrphaned)],
        [a.tokens.size, false],
        'all it had is free and clean',
      );
      mustEqual(await a.session.beat(a.id, 1_000, []), false, 'it cannot beat any more');
    }),
  ];
}

function dying(): readonly ContractCase[] {
  return [
    promise(
      'the units of a worker that stopped beating are orphaned, and it learns that it was buried',
      async (kit) => {
        const [dead, heir] = [await kit.own(), await kit.join()];
        await dead.session.beat(dead.id, 1, []);
        await kit.until(async () => {
          const { free } = await heir.session.survey(heir.id);
          return free.length === dead.tokens.size && free.every(({ isOrphaned }) => isOrphaned);
        }, 'all it owned is free, and orphaned');
        mustEqual(await dead.session.beat(dead.id, 60_000, []), false, 'its beat says so');
        const { workers } = await heir.session.survey(heir.id);
        mustEqual(
          workers.map(({ id }) => id),
          [heir.id],
          'it is not among the living',
        );
      },
    ),
    promise('a worker that beats lives', async (kit) => {
      const [worker, other] = [await kit.join({ leaseMs: 100 }), await kit.join()];
      mustEqual(await worker.session.beat(worker.id, 60_000, []), true, 'its beat is taken');
      await kit.harness.pass(150);
      const { workers } = await other.session.survey(other.id);
      mustEqual(workers.length, 2, 'it lives longer than it first said');
    }),
    promise('a running report is taken with the beat', async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      const { unit } = await worker.readOne();
      const running = [{ id, unit, attempt: 1, startedMsAgo: 5 }];
      mustEqual(await worker.session.beat(worker.id, 60_000, running), true, 'with one');
      mustEqual(await worker.session.beat(worker.id, 60_000, running), true, 'with the same again');
      mustEqual(await worker.session.beat(worker.id, 60_000, []), true, 'and without');
    }),
  ];
}
