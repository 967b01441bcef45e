import type { Delivery } from '../../relay/relay-store.ts';
import { promise, promiseOfOverlap } from './contract-case.ts';
import type { ContractCase } from './contract-harness.ts';
import { type ContractKit, handler, type Member, must, mustEqual } from './contract-kit.ts';

/** What a reader is promised. */
export function readingCases(): readonly ContractCase[] {
  return [...streamCases(), ...lateCases(), ...otherLateCases(), ...fetchCases(), ...wakeCases()];
}

const idsOf = (rows: readonly Delivery[]): readonly string[] => rows.map(({ id }) => id);

function streamCases(): readonly ContractCase[] {
  return [
    promise('a read goes on where the one before ended, in the order of sending', async (kit) => {
      const worker = await kit.own();
      const ids = [];
      for (let n = 0; n < 5; n++) ids.push(await kit.send('same'));
      const read = [];
      for (let n = 0; n < 3; n++) read.push(idsOf((await worker.read({ limit: 2 })).ready));
      mustEqual(read, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)], 'two, two and one');
      mustEqual((await worker.read()).ready, [], 'and nothing twice');
    }),
    promise('a read of many units is one line in the order of sending', async (kit) => {
      const worker = await kit.own();
      for (let n = 0; n < 20; n++) await kit.send(`key ${n}`);
      const { ready } = await worker.read();
      const seqs = ready.map(({ seq }) => seq);
      mustEqual(seqs.length, 20, 'all are read');
      mustEqual(
        seqs,
        seqs.toSorted((a, b) => a - b),
        'sorted by seq over all units',
      );
    }),
    promise('a read gives rows of the units named and of no others', async (kit) => {
      const worker = await kit.own({ handlers: [handler('first'), handler('second')] });
      await kit.send('k');
      const [lane] = worker.lanes;
      const units = worker.units.filter((unit) => unit < (lane?.firstUnit ?? 0) + (lane?.unitCount ?? 0));
      const request = {
        units: units.map((unit) => ({ unit, after: 0, limit: 10, skipsBlocked: false })),
        since: undefined,
        dueLimit: 10,
      };
      const { ready } = await worker.session.read(request);
      mustEqual(
        ready.map(({ unit }) => units.includes(unit)),
        [true],
        'one row, of the first handler',
      );
    }),
    promise('a read without units gives nothing but a snapshot', async (kit) => {
      const worker = await kit.own();
      await kit.send('k');
      const answer = await worker.session.read({ units: [], since: undefined, dueLimit: 10 });
      mustEqual([answer.ready, answer.due, answer.isLateOverflow], [[], [], false], 'nothing');
      must(answer.snapshot.xmax !== '', 'but a snapshot');
    }),
  ];
}

/** Reads until nothing new comes, and gives all ids in the order they came. */
async function readAll<Tx>(worker: Member<Tx>): Promise<readonly string[]> {
  const ids: string[] = [];
  for (;;) {
    const { ready } = await worker.read();
    if (ready.length === 0) return ids;
    ids.push(...idsOf(ready));
  }
}

async function sendIn<Tx>(kit: ContractKit<Tx>, tx: Tx, key: string): Promise<string> {
  const message = kit.message(key);
  await kit.harness.store.append(tx, [message]);
  return message.id;
}

function lateCases(): readonly ContractCase[] {
  return [
    promiseOfOverlap('a message that was sent earlier and committed later is read once', async (kit) => {
      const worker = await kit.own();
      const slow = await kit.begin();
      const late = await sendIn(kit, slow.tx, 'k');
      const early = await kit.send('k');
      mustEqual(await readAll(worker), [early], 'first what is committed');
      await slow.commit();
      mustEqual(await readAll(worker), [late], 'then the late one, once');
      mustEqual(await readAll(worker), [], 'and never again');
    }),
    promiseOfOverlap(
      'a late message is read although its transaction is newer than all that were over',
      async (kit) => {
        const worker = await kit.own();
        // The first to write gets the lower id; the second takes its place in line first. So the cursor passes a row whose
        // transaction is neither over nor in the list of the reader's snapshot.
        const [older, newer] = [await kit.begin(), await kit.begin()];
        await kit.harness.effect(older.tx, 'first write');
        const late = await sendIn(kit, newer.tx, 'k');
        const early = await sendIn(kit, older.tx, 'k');
        await older.commit();
        mustEqual(await readAll(worker), [early], 'first what is committed');
        await newer.commit();
        mustEqual(await readAll(worker), [late], 'then the late one, once');
        mustEqual(await readAll(worker), [], 'and never again');
      },
    ),
    promiseOfOverlap('late and new messages of one read are in one line', async (kit) => {
      const worker = await kit.own();
      const slow = await kit.begin();
      const late = await sendIn(kit, slow.tx, 'k');
      const first = await kit.send('k');
      mustEqual(await readAll(worker), [first], 'the cursor stands behind the late one');
      await slow.commit();
      const next = await kit.send('k');
      mustEqual(idsOf((await worker.read()).ready), [late, next], 'the late one stands before the new one');
    }),
  ];
}

function otherLateCases(): readonly ContractCase[] {
  return [
    promiseOfOverlap('a unit that takes no new rows still gets its late ones', async (kit) => {
      const worker = await kit.own();
      const slow = await kit.begin();
      const late = await sendIn(kit, slow.tx, 'k');
      await kit.send('k');
      await worker.read();
      await slow.commit();
      await kit.send('k');
      mustEqual(idsOf((await worker.read({ limit: 0 })).ready), [late], 'the late one and no new one');
    }),
    promiseOfOverlap('a message that was rolled back late is not read', async (kit) => {
      const worker = await kit.own();
      const slow = await kit.begin();
      await sendIn(kit, slow.tx, 'k');
      const early = await kit.send('k');
      mustEqual(await readAll(worker), [early], 'first what is committed');
      await slow.rollback();
      mustEqual(await readAll(worker), [], 'nothing more');
    }),
    promiseOfOverlap('the same late message is read by a new owner in its place', async (kit) => {
      const slow = await kit.begin();
      const worker = await kit.own();
      const late = await sendIn(kit, slow.tx, 'k');
      const early = await kit.send('k');
      await slow.commit();
      mustEqual(await readAll(worker), [late, early], 'in the order of seq');
    }),
  ];
}

function fetchCases(): readonly ContractCase[] {
  return [
    promise('a large payload is not read ahead, and comes when it is fetched', async (kit) => {
      const worker = await kit.own();
      const payload = JSON.stringify({ text: Array.from({ length: 60_000 }, (_, n) => n.toString(36)).join(' ') });
      await kit.send('k', { payload });
      const delivery = await worker.readOne();
      mustEqual(delivery.payload, undefined, 'it is not read ahead');
      const [fetched] = await worker.session.fetch([delivery], delivery.unit);
      mustEqual(JSON.parse(fetched?.payload ?? 'null'), JSON.parse(payload), 'it is fetched whole');
      mustEqual({ ...fetched, payload: undefined }, { ...delivery, payload: undefined }, 'the rest is the same');
      mustEqual(await worker.session.fetch([delivery], delivery.unit, true), [delivery], 'and not ahead of its start');
    }),
    promise('a row is fetched only while it is open in that state and version', async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      const delivery = await worker.readOne();
      const fetch = (row: Pick<Delivery, 'seq' | 'state' | 'version'>): Promise<readonly Delivery[]> =>
        worker.session.fetch([row], delivery.unit);
      mustEqual((await fetch({ ...delivery, state: 'waiting' })).length, 0, 'not in another state');
      await kit.harness.edit(id, { n: 2 });
      mustEqual((await fetch(delivery)).length, 0, 'not in an older version');
      const [edited] = await fetch({ ...delivery, version: 1 });
      mustEqual(JSON.parse(edited?.payload ?? 'null'), { n: 2 }, 'the new version has the new payload');
      await worker.settle(worker.done({ ...delivery, version: 1 }));
      mustEqual((await fetch({ ...delivery, version: 1 })).length, 0, 'not when it is finished');
    }),
    promise("an operator's change raises the poke of the unit", async (kit) => {
      const worker = await kit.own();
      const id = await kit.send('k');
      const { unit } = await worker.readOne();
      mustEqual((await worker.read()).pokes.get(unit) ?? 0, 0, 'none at first');
      await kit.harness.edit(id, { n: 2 });
      const poked = (await worker.read()).pokes.get(unit) ?? 0;
      must(poked > 0, 'a read shows it');
      mustEqual((await worker.session.load([unit]))[0]?.poke, poked, 'a load as well');
    }),
  ];
}

function wakeCases(): readonly ContractCase[] {
  return [
    promise('a worker that dozes is woken by a commit', async (kit) => {
      const worker = await kit.own();
      let wakes = 0;
      const canWake = await worker.session.listen((news) => void (news === 'messages' && wakes++));
      await worker.session.doze(worker.id);
      await worker.session.doze(worker.id);
      await kit.send('k');
      if (canWake) await kit.until(async () => wakes > 0, 'it is woken');
      await worker.session.rouse(worker.id);
      await worker.session.rouse(worker.id);
      mustEqual((await worker.read()).ready.length, 1, 'and finds the message');
    }),
    promise('workers are told of one that comes, gives units back, or goes', async (kit) => {
      const worker = await kit.own();
      let told = 0;
      const canHear = await worker.session.listen((news) => void (news === 'units' && told++));
      const heard = async (what: string): Promise<void> => {
        if (canHear) await kit.until(async () => told > 0, what);
        told = 0;
      };
      const other = await kit.join();
      await heard('of one that comes');
      await other.session.release(other.id, []);
      await heard('of units that are given back');
      await other.session.leave(other.id);
      await heard('of one that goes');
    }),
  ];
}
