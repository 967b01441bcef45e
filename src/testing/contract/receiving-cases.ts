import { isHoldfastError } from '../../kernel/error.ts';
import type { ForeignMessage } from '../../outbox/outbox-store.ts';
import { promise } from './contract-case.ts';
import type { ContractCase } from './contract-harness.ts';
import { type ContractKit, handler, must, mustEqual } from './contract-kit.ts';

const WEEK_MS = 7 * 86_400_000;

/** What is promised of messages that come from elsewhere, and of copies of dead letters that go elsewhere. */
export function receivingCases(): readonly ContractCase[] {
  return [...onceCases(), ...ofItsOwnCases(), ...copyCases()];
}

function foreign<Tx>(
  kit: ContractKit<Tx>,
  key: string | undefined,
  about: Partial<ForeignMessage> = {},
): ForeignMessage {
  const message = kit.message(key);
  return { ...message, takenAs: '<mail/thing.done', sourceId: `test:${message.id}`, ...about };
}

function onceCases(): readonly ContractCase[] {
  return [
    promise('what is received is stored once however often it comes, also twice in one call', async (kit) => {
      const worker = await kit.own({ handlers: [handler('mail', ['<mail/thing.done'])] });
      const [one, two] = [foreign(kit, 'k'), foreign(kit, 'k')];
      const first = await worker.session.receive([one, { ...one, sourceId: 'test:again' }, two], WEEK_MS);
      mustEqual(
        first,
        [
          { kind: 'stored', id: one.id },
          { kind: 'duplicate', id: one.id },
          { kind: 'stored', id: two.id },
        ],
        'what became of each',
      );
      mustEqual(await worker.session.receive([two], WEEK_MS), [{ kind: 'duplicate', id: two.id }], 'it came before');
      const { ready } = await worker.read();
      mustEqual(
        ready.map(({ id }) => id),
        [one.id, two.id],
        'each once, in their order',
      );
      await worker.settle(...ready.map((delivery) => worker.done(delivery)));
      mustEqual(
        await worker.session.receive([one], WEEK_MS),
        [{ kind: 'duplicate', id: one.id }],
        'also when it is done',
      );
      mustEqual((await worker.read()).ready.length, 0, 'nothing is there to do');
    }),
    promise('of two that receive the same at once one stores it', async (kit) => {
      const [a, b] = [await kit.own({ handlers: [handler('mail', ['<mail/thing.done'])] }), await kit.join()];
      const messages = Array.from({ length: 20 }, (_, n) => foreign(kit, `k${n % 3}`));
      const results = await Promise.all([
        a.session.receive(messages, WEEK_MS),
        b.session.receive(messages.toReversed(), WEEK_MS),
      ]);
      mustEqual(results.flat().filter(({ kind }) => kind === 'stored').length, 20, 'each was stored once');
      mustEqual((await a.read()).ready.length, 20, 'each is there once');
    }),
    promise('nothing is received while there is no room, and it comes in later', async (kit) => {
      const worker = await kit.own({ handlers: [handler('mail', ['<mail/thing.done'])] });
      const [one, two] = [foreign(kit, 'k'), foreign(kit, 'k')];
      await worker.session.receive([one], WEEK_MS);
      await worker.session.tidy({ historyMs: WEEK_MS, maxPending: 1 });
      const refused = await worker.session.receive([two], WEEK_MS).catch((error: unknown) => error);
      must(isHoldfastError(refused, 'OUTBOX_FULL'), 'it is refused by name');
      await worker.session.tidy({ historyMs: WEEK_MS, maxPending: undefined });
      mustEqual(await worker.session.receive([two], WEEK_MS), [{ kind: 'stored', id: two.id }], 'now it is stored');
    }),
  ];
}

function ofItsOwnCases(): readonly ContractCase[] {
  return [
    promise('what was received for one service is taken by its handlers, and by no others of the type', async (kit) => {
      const worker = await kit.own({
        handlers: [
          handler('mail', ['<mail/thing.done']),
          handler('books', ['<books/thing.done']),
          handler('here', ['thing.done']),
        ],
      });
      const message = foreign(kit, 'k');
      await worker.session.receive([message], WEEK_MS);
      await worker.session.receive([{ ...message, takenAs: '<books/thing.done' }], WEEK_MS);
      const lanes = new Map(
        worker.lanes.map(({ handler: name, firstUnit, unitCount }) => [name, [firstUnit, unitCount]]),
      );
      const { ready } = await worker.read();
      const taken = ready.map(
        ({ unit }) => [...lanes].find(([, [from = 0, count = 0]]) => unit >= from && unit < from + count)?.[0],
      );
      mustEqual(new Set(taken).size === 2 && !taken.includes('here'), true, 'each service its own copy');
      mustEqual(
        ready.map(({ type }) => type),
        ['thing.done', 'thing.done'],
        'the type is the type',
      );
    }),
    promise('what is received, or sent to be published, before anybody takes it waits for who does', async (kit) => {
      const early = await kit.own({ handlers: [handler('here', ['thing.done'])] });
      const message = foreign(kit, 'k');
      await early.session.receive([message], WEEK_MS);
      await kit.sendAll([kit.message('k', { takenAs: '>orders/broker' })]);
      mustEqual((await early.read()).ready.length, 0, 'it is nothing for a handler of the type');
      const late = await kit.own({
        handlers: [handler('mail', ['<mail/thing.done']), handler('to-broker', ['>orders/broker'])],
      });
      mustEqual((await late.read()).ready.length, 2, 'both are there for who takes them');
    }),
  ];
}

function copyCases(): readonly ContractCase[] {
  return [
    promise('a dead letter is to be copied until that is noted', async (kit) => {
      const worker = await kit.own();
      await kit.send('k', { payload: '{"n":7}', headers: { tenant: 'acme' } });
      const delivery = await worker.readOne();
      mustEqual(await worker.session.unmirrored(worker.units, { limit: 10 }), [], 'it has not died');
      await worker.settle(worker.dead(delivery, true));
      const [letter] = await worker.session.unmirrored(worker.units, { limit: 10 });
      mustEqual(
        [letter?.delivery.id, letter?.delivery.headers],
        [delivery.id, { tenant: 'acme' }],
        'it is found, with what it was',
      );
      mustEqual(JSON.parse(letter?.delivery.payload ?? 'null'), { n: 7 }, 'with its payload');
      must((letter?.failedAtMs ?? 0) > 0 && (letter?.error.message ?? '') !== '', 'with why and when');
      mustEqual((await worker.session.unmirrored([], { limit: 10 })).length, 0, 'only in the units that are named');
      await worker.session.mirrored([{ ...delivery, cycle: 7 }]);
      mustEqual(
        (await worker.session.unmirrored(worker.units, { limit: 10 })).length,
        1,
        'a note of another cycle is none of it',
      );
      await worker.session.mirrored([delivery]);
      mustEqual(await worker.session.unmirrored(worker.units, { limit: 10 }), [], 'it is noted');
    }),
    promise('dead letters to be copied are found by type, and from one on to the next', async (kit) => {
      const worker = await kit.own({ handlers: [handler('here', ['thing.done', 'thing.begun'])] });
      const keys = ['a', 'b', 'c', 'a'];
      for (const key of keys) await kit.send(key);
      await kit.send('a', { type: 'thing.begun' });
      const { ready } = await worker.read();
      for (const delivery of ready) await worker.settle(worker.dead(delivery, false));
      const find = async (which: object): Promise<readonly { unit: number; seq: number; type: string }[]> =>
        (await worker.session.unmirrored(worker.units, { limit: 10, ...which })).map(({ delivery }) => delivery);
      const all = await find({});
      const sorted = all.toSorted((a, b) => a.unit - b.unit || a.seq - b.seq);
      mustEqual([all.length, all], [5, sorted], 'all of them, in their order');
      const types = (found: typeof all): readonly string[] => found.map(({ type }) => type);
      mustEqual(types(await find({ type: 'thing.begun' })), ['thing.begun'], 'of a type');
      mustEqual(types(await find({ without: ['thing.done'] })), ['thing.begun'], 'without a type');
      const paged = [...(await find({ limit: 2 })), ...(await find({ limit: 3, after: all[1] }))];
      mustEqual(paged, all, 'page by page');
    }),
  ];
}
