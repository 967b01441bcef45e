import type { Delivery, Settlement } from '../../relay/relay-store.ts';
import { promise } from './contract-case.ts';
import type { ContractCase } from './contract-harness.ts';
import { FAILURE, must, mustEqual } from './contract-kit.ts';

/** What is promised about the end of a run that is written without an effect. */
export function settlingCases(): readonly ContractCase[] {
  return [
    ...doneCases(),
    ...takeoverCases(),
    ...retryCases(),
    ...waitCases(),
    ...postponeCases(),
    ...deadCases(),
    ...parkCases(),
    ...markCases(),
    ...unmarkCases(),
    ...houseCases(),
  ];
}

function doneCases(): readonly ContractCase[] {
  return [
    promise('a finished delivery goes to the history, once', async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      const delivery = await worker.readOne();
      mustEqual([...(await worker.settle(worker.done(delivery))).settled], [delivery.seq], 'it is settled');
      mustEqual(await kit.harness.finished(), [id], 'it is in the history');
      const again = await worker.settle(worker.done(delivery));
      mustEqual([again.settled.size, again.lostUnits.size], [0, 0], 'a second result is refused; the unit is not lost');
      mustEqual(await kit.harness.finished(), [id], 'the history has it once');
    }),
    promise('of many results the good ones are written and the others refused', async (kit) => {
      const worker = await kit.own();
      for (const key of ['a', 'b', 'c', 'd']) await kit.send(key);
      const { ready } = await worker.read();
      const [a, b, c, d] = ready as [Delivery, Delivery, Delivery, Delivery];
      await kit.harness.edit(b.id, { n: 2 });
      const stale = worker.done(c);
      const { settled, lostUnits } = await worker.settle(
        worker.done(a),
        worker.done(b),
        { ...stale, token: { ...stale.token, epoch: stale.token.epoch - 1 } },
        worker.retry(d, 0),
      );
      mustEqual(sorted(settled), sorted([a.seq, d.seq]), 'two are written');
      mustEqual([...lostUnits], [c.unit], 'the one under an old token says that the unit is lost');
    }),
    promise('a result for an older version or another state is refused', async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      const delivery = await worker.readOne();
      await kit.harness.edit(id, { n: 2 });
      mustEqual((await worker.settle(worker.done(delivery))).settled.size, 0, 'not for an older version');
      mustEqual((await worker.settle(worker.retry(delivery, 0))).settled.size, 0, 'whatever the result');
      const edited = { ...delivery, version: 1 };
      mustEqual(
        (await worker.settle(worker.done({ ...edited, state: 'waiting' }))).settled.size,
        0,
        'nor for another state',
      );
      mustEqual((await worker.settle(worker.done(edited))).settled.size, 1, 'but for the row as it is');
    }),
  ];
}

function takeoverCases(): readonly ContractCase[] {
  return [
    promise('after a takeover nothing of the old owner is written', async (kit) => {
      const old = await kit.own();
      await kit.send('k');
      const delivery = await old.readOne();
      const heir = await kit.takeOver(old);
      for (const result of [old.done(delivery), old.retry(delivery, 0), old.dead(delivery, true)]) {
        const { settled, lostUnits } = await old.settle(result);
        mustEqual([settled.size, [...lostUnits]], [0, [delivery.unit]], `${result.kind} is refused, the unit is lost`);
      }
      mustEqual(
        (await old.session.mark(old.id, [{ ...old.target(delivery), starts: 1 }])).size,
        0,
        'a start is not counted',
      );
      const again = await heir.readOne();
      mustEqual({ ...again }, { ...delivery }, 'the heir finds the row as it was');
      mustEqual((await heir.settle(heir.done(again))).settled.size, 1, 'and finishes it');
    }),
  ];
}

function retryCases(): readonly ContractCase[] {
  return [
    promise('a failed delivery waits, holds its key, and is shown again when it is due', async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      const delivery = await worker.readOne();
      await worker.settle(worker.retry(delivery, 300));
      const early = await worker.read();
      mustEqual([early.ready.length, early.due.length], [0, 0], 'it is not shown early');
      must((early.nextDueInMs ?? -1) > 0 && (early.nextDueInMs ?? 0) <= 300, 'the read says when it will be due');
      const holders = (await worker.session.load([delivery.unit])).flatMap((load) => load.holders);
      mustEqual(holders, [{ key: 'k', seq: delivery.seq, isDead: false }], 'it holds its key');
      await kit.until(async () => (await worker.read()).due.length === 1, 'it is shown when it is due');
      const [due] = (await worker.read()).due;
      mustEqual(
        [due?.id, due?.state, due?.attempts, due?.retry?.attempts, due?.retry?.waitedMs],
        [id, 'waiting', 1, 1, 300],
        'with its account',
      );
      if (due) mustEqual((await worker.settle(worker.done(due))).settled.size, 1, 'it is finished like any other');
      mustEqual((await worker.session.load([delivery.unit]))[0]?.holders, [], 'and holds nothing then');
    }),
    promise('due deliveries come the longest due first, as many as were asked for', async (kit) => {
      const worker = await kit.own();
      for (const key of ['a', 'b', 'c']) await kit.send(key);
      const { ready } = await worker.read();
      const [a, b, c] = ready as [Delivery, Delivery, Delivery];
      await worker.settle(worker.retry(a, 40), worker.retry(b, 0), worker.retry(c, 20));
      await kit.until(async () => (await worker.read()).due.length === 3, 'all are due');
      const { due, nextDueInMs } = await worker.read({ dueLimit: 2 });
      mustEqual(
        due.map(({ seq }) => seq),
        [b.seq, c.seq],
        'the two that have waited longest',
      );
      mustEqual(nextDueInMs, 0, 'and there is one more');
    }),
  ];
}

function waitCases(): readonly ContractCase[] {
  return [
    promise('a failed delivery without a key holds nothing', async (kit) => {
      const worker = await kit.own();
      await kit.send();
      const delivery = await worker.readOne();
      await worker.settle(worker.retry(delivery, 0));
      mustEqual((await worker.session.load([delivery.unit]))[0]?.holders, [], 'no holder');
      mustEqual((await worker.read()).due.length, 1, 'but it is due');
    }),
    promise('a delivery that waits keeps the place in line of its key only if told to', async (kit) => {
      const worker = await kit.own();
      for (const key of ['tried', 'put-off']) await kit.send(key);
      const { ready } = await worker.read();
      const [first, second] = ready as [Delivery, Delivery];
      await worker.settle(worker.retry(first, 0, false), {
        ...worker.target(second),
        kind: 'postpone',
        holds: false,
        delayMs: 0,
        error: FAILURE,
      });
      const holders = (await worker.session.load(worker.units)).flatMap((load) => load.holders);
      mustEqual(holders, [], 'no holder');
      const due = (await worker.read()).due.toSorted((a, b) => a.seq - b.seq);
      mustEqual(
        due.map(({ attempts }) => attempts),
        [1, 0],
        'both are due, one with its attempt',
      );
    }),
    promise('a due delivery that is made ready is read once as such, wherever its reader stands', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      await kit.send('k');
      const { ready } = await worker.read();
      const [first, second] = ready as [Delivery, Delivery];
      await worker.settle(worker.retry(first, 0, false), worker.done(second));
      const [due] = (await worker.read()).due as [Delivery];
      const { settled } = await worker.settle({ ...worker.target(due), kind: 'ready' });
      mustEqual([...settled], [first.seq], 'it is written');
      const after = await worker.read();
      mustEqual(
        [after.due.length, after.ready.map(({ seq, state, attempts }) => [seq, state, attempts])],
        [0, [[first.seq, 'ready', 1]]],
        'it is ready, with its attempt',
      );
      mustEqual((await worker.read()).ready, [], 'and not read again');
    }),
  ];
}

function postponeCases(): readonly ContractCase[] {
  return [
    promise('a postponed delivery holds its key and has no attempt more', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      const delivery = await worker.readOne();
      const { settled } = await worker.settle({
        ...worker.target(delivery),
        kind: 'postpone',
        holds: true,
        delayMs: 0,
        error: FAILURE,
      });
      mustEqual(settled.size, 1, 'it is written');
      const [due] = (await worker.read()).due;
      mustEqual([due?.id, due?.attempts, due?.state], [delivery.id, 0, 'waiting'], 'it is due, without an attempt');
      const holders = (await worker.session.load([delivery.unit])).flatMap((load) => load.holders);
      mustEqual(holders, [{ key: 'k', seq: delivery.seq, isDead: false }], 'and holds its key');
    }),
  ];
}

function deadCases(): readonly ContractCase[] {
  return [
    promise('a dead letter is not read, and holds its key only if told to', async (kit) => {
      const worker = await kit.own();
      await kit.send('blocks');
      await kit.send('passes');
      const { ready } = await worker.read();
      const [first, second] = ready as [Delivery, Delivery];
      await worker.settle(worker.dead(first, true), worker.dead(second, false));
      const { ready: more, due, nextDueInMs } = await worker.read();
      mustEqual([more.length, due.length, nextDueInMs], [0, 0, undefined], 'neither is read');
      const holders = (await worker.session.load(worker.units)).flatMap((load) => load.holders);
      mustEqual(holders, [{ key: 'blocks', seq: first.seq, isDead: true }], 'one holds its key');
      const { failed, pending } = await worker.session.tidy({ historyMs: 1_000_000, maxPending: undefined });
      mustEqual([failed, pending], [2, 0], 'the housekeeper counts them');
    }),
    promise('a replayed dead letter is due at once, from its first attempt, in its old place', async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      const delivery = await worker.readOne();
      await worker.settle(worker.dead(delivery, true));
      await kit.harness.replay(id);
      const { due, pokes } = await worker.read();
      mustEqual(
        due.map(({ id: found, seq, attempts, cycle, version }) => [found, seq, attempts, cycle, version]),
        [[id, delivery.seq, 0, 1, 0]],
        'due, with a new cycle',
      );
      must((pokes.get(delivery.unit) ?? 0) > 0, 'its owner is told');
      const holders = (await worker.session.load([delivery.unit])).flatMap((load) => load.holders);
      mustEqual(holders, [{ key: 'k', seq: delivery.seq, isDead: false }], 'it still holds its key');
    }),
    promise(
      'a failure whose answer was lost and that is written again does not end a replay since then',
      async (kit) => {
        const worker = await kit.own();
        const id = await kit.send('k');
        await worker.settle(worker.retry(await worker.readOne(), 0));
        const { due } = await worker.read();
        const delivery = due[0] as Delivery;
        const dead = worker.dead(delivery, true);
        await worker.settle(dead);
        await kit.harness.replay(id);
        mustEqual((await worker.settle(dead)).settled.size, 0, 'it is refused');
        const target = worker.target(delivery);
        const lineUp: Settlement = { ...target, kind: 'ready' };
        const putOff: Settlement = { ...target, kind: 'postpone', delayMs: 1_000_000, holds: true, error: FAILURE };
        for (const late of [worker.retry(delivery, 1_000_000), putOff, lineUp]) {
          mustEqual((await worker.settle(late)).settled.size, 0, `so is any other result of that cycle: ${late.kind}`);
        }
        mustEqual((await worker.read()).due.length, 1, 'the replay is still due');
      },
    ),
  ];
}

function parkCases(): readonly ContractCase[] {
  return [
    promise('what is parked together is parked whole, also what was edited meanwhile', async (kit) => {
      const worker = await kit.own();
      const ids = [await kit.send('k'), await kit.send('k'), await kit.send('k')];
      const { ready } = await worker.read();
      const [head, second, third] = ready as [Delivery, Delivery, Delivery];
      await worker.settle(worker.dead(head, true));
      await kit.harness.edit(second.id, { n: 2 });
      const { settled } = await worker.settle(worker.parked(second, head.seq), worker.parked(third, head.seq));
      mustEqual(sorted(settled), sorted([second.seq, third.seq]), 'both are parked, whichever version they have');
      const holders = (await worker.session.load([head.unit])).flatMap((load) => load.holders);
      mustEqual(holders.length, ids.length, 'and block the key like the dead letter');
    }),
    promise('nothing is parked behind what is no dead letter any more', async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      await kit.send('k');
      const { ready } = await worker.read();
      const [head, second] = ready as [Delivery, Delivery];
      mustEqual((await worker.settle(worker.parked(second, head.seq))).settled.size, 0, 'not before it is one');
      await worker.settle(worker.dead(head, true));
      await kit.harness.replay(id);
      mustEqual((await worker.settle(worker.parked(second, head.seq))).settled.size, 0, 'nor once it is replayed');
    }),
  ];
}

function markCases(): readonly ContractCase[] {
  return [
    promise('a start is counted on the row, and a caught failure forgets it', async (kit) => {
      const first = await kit.own();
      await kit.send('k');
      const delivery = await first.readOne();
      const target = { ...first.target(delivery), starts: 1 };
      mustEqual([...(await first.session.mark(first.id, [target]))], [delivery.seq], 'it is marked');
      mustEqual(
        (await first.session.mark(first.id, [target])).size,
        1,
        'a mark whose answer was lost is written again',
      );
      const heir = await kit.takeOver(first);
      const again = await heir.readOne();
      mustEqual([again.starts, again.attempts], [1, 0], 'the next owner sees it, once; it is no attempt');
      await heir.settle(heir.retry(again, 0));
      mustEqual((await heir.read()).due[0]?.starts, 0, 'a caught failure forgets it');
    }),
  ];
}

function unmarkCases(): readonly ContractCase[] {
  return [
    promise('a start is taken back without a lease, and never below nothing', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      const delivery = await worker.readOne();
      await worker.session.mark(worker.id, [{ ...worker.target(delivery), starts: 2 }]);
      await worker.session.leave(worker.id);
      const startsAfter = async (): Promise<number | undefined> => {
        await worker.session.unmark(delivery.unit, [delivery.seq]);
        return (await worker.session.fetch([delivery], delivery.unit))[0]?.starts;
      };
      mustEqual([await startsAfter(), await startsAfter(), await startsAfter()], [1, 0, 0], 'one less each time');
    }),
  ];
}

function houseCases(): readonly ContractCase[] {
  return [
    promise('the housekeeper tells what is open and who serves it', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      const keep = { historyMs: 1_000_000, maxPending: undefined };
      const { pending, failed, oldestMs, isFull, unserved } = await worker.session.tidy(keep);
      mustEqual([pending, failed, isFull, unserved], [1, 0, false, []], 'one is open, and served');
      must(oldestMs !== undefined && oldestMs >= 0, 'with its age');
      await worker.session.leave(worker.id);
      const other = await kit.own({ service: 'elsewhere', handlers: [] });
      const report = await other.session.tidy(keep);
      mustEqual(
        report.unserved.map(({ reason, handler, count }) => [reason, handler, count]),
        [['no-worker', 'first', 1]],
        'without a worker it is told of',
      );
    }),
    promise('the housekeeper lets go of the history in time', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      await worker.settle(worker.done(await worker.readOne()));
      await worker.session.tidy({ historyMs: 1_000_000, maxPending: undefined });
      mustEqual((await kit.harness.finished()).length, 1, 'it is kept as long as it should');
      await kit.until(async () => {
        await worker.session.tidy({ historyMs: 20, maxPending: undefined });
        return (await kit.harness.finished()).length === 0;
      }, 'and gone some time after');
    }),
  ];
}

function sorted(seqs: Iterable<number>): readonly number[] {
  return [...seqs].sort((a, b) => a - b);
}
