import type { Delivery } from '../../relay/relay-store.ts';
import { promise } from './contract-case.ts';
import type { ContractCase } from './contract-harness.ts';
import { must, mustEqual } from './contract-kit.ts';

/** What is promised about an effect and its completion in one commit. */
export function commitCases(): readonly ContractCase[] {
  return [...keptCases(), ...refusedCases()];
}

function keptCases(): readonly ContractCase[] {
  return [
    promise('an effect and the completion are kept together', async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      const delivery = await worker.readOne();
      const outcome = await worker.commit([delivery], (tx) => kit.harness.effect(tx, 'one'));
      mustEqual(outcome, 'committed', 'it is committed');
      mustEqual([await kit.harness.effects(), await kit.harness.finished()], [['one'], [id]], 'both are there');
      const again = await worker.commit([delivery], (tx) => kit.harness.effect(tx, 'two'));
      mustEqual([again, await kit.harness.effects()], ['refused', ['one']], 'a second effect is refused');
    }),
    promise('many deliveries share a commit, all of them or none', async (kit) => {
      const worker = await kit.own();
      for (const key of ['a', 'b', 'c']) await kit.send(key);
      const { ready } = await worker.read();
      const [a, b, c] = ready as [Delivery, Delivery, Delivery];
      const effect =
        (line: string): Parameters<typeof worker.commit>[1] =>
        (tx) =>
          kit.harness.effect(tx, line);
      mustEqual(await worker.commit([a, b], effect('both')), 'committed', 'two are committed together');
      mustEqual(await worker.commit([b, c], effect('not')), 'refused', 'one that is done refuses the other');
      mustEqual(await kit.harness.effects(), ['both'], 'one effect is kept');
      mustEqual(await worker.commit([c], effect('last')), 'committed', 'the other is still there');
    }),
    promise('a message sent in the commit leaves with it', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      const delivery = await worker.readOne();
      const next = kit.message('k');
      await worker.commit([delivery], async (tx) => void (await kit.harness.store.append(tx, [next])));
      mustEqual((await worker.readOne()).id, next.id, 'it is read then');
    }),
    promise('a delivery that waited for a retry is committed like any other', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      await worker.settle(worker.retry(await worker.readOne(), 0));
      const { due } = await worker.read();
      mustEqual(await worker.commit(due, (tx) => kit.harness.effect(tx, 'one')), 'committed', 'it is committed');
      mustEqual((await worker.read()).due.length, 0, 'and not shown again');
    }),
  ];
}

function refusedCases(): readonly ContractCase[] {
  return [
    promise('what an effect throws is thrown on, and nothing is kept', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      const delivery = await worker.readOne();
      const boom = new Error('boom');
      const thrown = await worker
        .commit([delivery], async (tx) => {
          await kit.harness.effect(tx, 'one');
          await kit.harness.store.append(tx, [kit.message('k')]);
          throw boom;
        })
        .catch((error: unknown) => error);
      must(thrown === boom, 'the error itself');
      mustEqual([await kit.harness.effects(), await kit.harness.finished()], [[], []], 'neither effect nor completion');
      mustEqual((await worker.read()).ready, [], 'nor what it sent');
      mustEqual(await worker.commit([delivery], async () => undefined), 'committed', 'the delivery is still open');
    }),
    promise('a commit after a takeover is refused and its effect rolled back', async (kit) => {
      const old = await kit.own();
      await kit.send('k');
      const delivery = await old.readOne();
      const heir = await kit.takeOver(old);
      const outcome = await old.commit([delivery], async (tx) => {
        await kit.harness.effect(tx, 'old');
        await kit.harness.store.append(tx, [kit.message('k')]);
      });
      mustEqual([outcome, await kit.harness.effects()], ['refused', []], 'nothing of the old owner is kept');
      const again = await heir.readOne();
      mustEqual(await heir.commit([again], (tx) => kit.harness.effect(tx, 'new')), 'committed', 'the heir commits');
      mustEqual(await kit.harness.effects(), ['new'], 'one effect');
    }),
    promise('a commit for an older version is refused', async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      const delivery = await worker.readOne();
      await kit.harness.edit(id, { n: 2 });
      const outcome = await worker.commit([delivery], (tx) => kit.harness.effect(tx, 'old'));
      mustEqual([outcome, await kit.harness.effects()], ['refused', []], 'nothing of it is kept');
    }),
  ];
}
