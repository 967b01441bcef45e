import { isHoldfastError } from '../../kernel/error.ts';
import { promise, promiseOfOverlap } from './contract-case.ts';
import type { ContractCase } from './contract-harness.ts';
import { type ContractKit, handler, type Member, must, mustEqual } from './contract-kit.ts';

/** What a sender is promised. */
export function sendingCases(): readonly ContractCase[] {
  return [
    ...envelopeCases(),
    ...commitCases(),
    ...fullCases(),
    ...onceCases(),
    ...laterCases(),
    ...nobodysCases(),
    ...registeringCases(),
  ];
}

function envelopeCases(): readonly ContractCase[] {
  return [
    promise('a committed message is read by each of its handlers, with its whole envelope', async (kit) => {
      const worker = await kit.own({ handlers: [handler('first'), handler('second'), handler('other', ['else'])] });
      const sent = kit.message('k', {
        payload: '{"a":[1,"é"]}',
        target: 'billing',
        aggregateType: 'order',
        aggregateId: 'o1',
        generation: 7,
        causationId: 'cause',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        tracestate: 'v=1',
        headers: { tenant: 'acme' },
      });
      mustEqual(await kit.sendAll([sent]), [{ kind: 'stored', id: sent.id }], 'append says what it stored');
      const { ready } = await worker.read();
      mustEqual(ready.length, 2, 'one delivery for each handler of the type');
      const [read] = ready;
      const { strict: _strict, deliverAt: _deliverAt, payload, idempotencyKey: _key, ...envelope } = sent;
      mustEqual(JSON.parse(read?.payload ?? 'null'), JSON.parse(payload), 'the payload is what was sent');
      mustEqual(pick(read ?? {}, Object.keys(envelope)), envelope, 'the envelope is what was sent');
      mustEqual(read?.idempotencyKey, sent.id, 'without a key of its own a message goes by its id');
      mustEqual(
        [read?.attempts, read?.cycle, read?.rerun, read?.starts, read?.version, read?.state],
        [0, 0, 0, 0, 0, 'ready'],
        'a new delivery has nothing behind it',
      );
      const lanes = worker.lanes.filter(({ handler: name }) => name !== 'other');
      mustEqual(
        ready.map(({ unit }) => lanes.some((l) => unit >= l.firstUnit && unit < l.firstUnit + l.unitCount)),
        [true, true],
        'each delivery stands in a unit of its handler',
      );
    }),
  ];
}

function commitCases(): readonly ContractCase[] {
  return [
    promise('a rolled back message is never read', async (kit) => {
      const worker = await kit.own();
      const { tx, rollback } = await kit.begin();
      await kit.harness.store.append(tx, [kit.message('k')]);
      await rollback();
      await kit.send('k');
      mustEqual((await worker.read()).ready.length, 1, 'only the committed one is read');
    }),
    promise('many messages of one append are answered and read in their order', async (kit) => {
      const worker = await kit.own();
      const messages = Array.from({ length: 20 }, (_, n) => kit.message('same', { payload: String(n) }));
      const results = await kit.sendAll(messages);
      mustEqual(
        results.map(({ id }) => id),
        messages.map(({ id }) => id),
        'answers are in the order of the messages',
      );
      mustEqual(
        (await worker.read()).ready.map(({ payload }) => payload),
        messages.map(({ payload }) => payload),
        'messages of one append are in line as they were given',
      );
    }),
  ];
}

function fullCases(): readonly ContractCase[] {
  return [
    promise('senders are refused while the outbox is full, and taken again after', async (kit) => {
      const worker = await kit.own();
      await kit.send('a');
      const keep = { historyMs: 1_000_000, maxPending: 1 };
      mustEqual((await worker.session.tidy(keep)).isFull, true, 'the housekeeper finds it full');
      const refused = await kit.send('b').then(
        () => 'stored',
        (error: unknown) => isHoldfastError(error, 'OUTBOX_FULL'),
      );
      mustEqual(refused, true, 'append throws OUTBOX_FULL');
      await worker.settle(worker.done(await worker.readOne()));
      mustEqual((await worker.session.tidy(keep)).isFull, false, 'the housekeeper finds room');
      await kit.send('c');
      mustEqual((await worker.read()).ready.length, 1, 'what was refused is not there, what came after is');
    }),
  ];
}

function onceCases(): readonly ContractCase[] {
  return [
    promise('a second message with an idempotency key is not stored, whoever sends it', async (kit) => {
      const worker = await kit.own();
      const first = kit.message('k', { idempotencyKey: 'once' });
      const second = kit.message('k', { idempotencyKey: 'once' });
      const third = kit.message('k', { idempotencyKey: 'once' });
      const stored = { kind: 'stored', id: first.id };
      const duplicate = { kind: 'duplicate', id: first.id };
      mustEqual(await kit.sendAll([first, second]), [stored, duplicate], 'the second of one call is a duplicate');
      mustEqual(await kit.sendAll([third]), [duplicate], 'so is one of a later transaction');
      mustEqual((await worker.readOne()).idempotencyKey, 'once', 'the delivery goes by the key that was given');
    }),
    promise('an idempotency key that was rolled back is free', async (kit) => {
      const worker = await kit.own();
      const { tx, rollback } = await kit.begin();
      await kit.harness.store.append(tx, [kit.message('k', { idempotencyKey: 'once' })]);
      await rollback();
      const again = kit.message('k', { idempotencyKey: 'once' });
      mustEqual(await kit.sendAll([again]), [{ kind: 'stored', id: again.id }], 'it is stored now');
      mustEqual((await worker.readOne()).id, again.id, 'and read');
    }),
    promiseOfOverlap('of two senders at once with one idempotency key, one stores it', async (kit) => {
      const worker = await kit.own();
      const [a, b] = [await kit.begin(), await kit.begin()];
      const first = kit.message('k', { idempotencyKey: 'once' });
      await kit.harness.store.append(a.tx, [first]);
      const later = kit.harness.store.append(b.tx, [kit.message('k', { idempotencyKey: 'once' })]);
      await a.commit();
      mustEqual(
        await later,
        [{ kind: 'duplicate', id: first.id }],
        'the second waits for the first and is its duplicate',
      );
      await b.commit();
      mustEqual((await worker.readOne()).id, first.id, 'one is read');
    }),
    promiseOfOverlap('with strict order, senders of a key queue until the one before has ended', async (kit) => {
      const worker = await kit.own();
      const [a, b] = [await kit.begin(), await kit.begin()];
      const [first, second] = [kit.message('k', { strict: true }), kit.message('k', { strict: true })];
      await kit.harness.store.append(a.tx, [first]);
      let isThrough = false;
      const later = kit.harness.store.append(b.tx, [second]).then(() => (isThrough = true));
      await kit.harness.pass(50);
      mustEqual(isThrough, false, 'the second sender waits');
      await a.commit();
      await later;
      await b.commit();
      mustEqual(
        (await worker.read()).ready.map(({ id }) => id),
        [first.id, second.id],
        'the line is in the order of the commits',
      );
    }),
  ];
}

function laterCases(): readonly ContractCase[] {
  return [
    promise('a scheduled message is shown when it is due and not before', async (kit) => {
      const worker = await kit.own();
      const start = (await kit.send('now'), (await worker.readOne()).createdAtMs);
      await kit.send('k', { deliverAt: new Date(start + 2_000) });
      const early = await worker.read();
      mustEqual([early.ready.length, early.due.length], [0, 0], 'it is not shown early');
      must((early.nextDueInMs ?? -1) > 0 && (early.nextDueInMs ?? 0) <= 2_000, 'the read says when it will be due');
      await kit.until(async () => (await worker.read()).due.length === 1, 'it is shown when it is due');
      const { due, ready } = await worker.read();
      mustEqual([due[0]?.state, due[0]?.attempts, ready.length], ['waiting', 0, 0], 'as waiting, without an attempt');
      mustEqual(
        (await worker.session.load(worker.units)).flatMap(({ holders }) => holders),
        [],
        'and it holds no key',
      );
      const settled = await worker.settle(worker.done(due[0] ?? (await worker.readOne())));
      mustEqual(settled.settled.size, 1, 'it is finished like any other');
      mustEqual((await worker.read()).due.length, 0, 'and not shown again');
    }),
    promise('a time that has passed delivers at once', async (kit) => {
      const worker = await kit.own();
      await kit.send('k', { deliverAt: new Date(1_000) });
      mustEqual((await worker.readOne()).state, 'ready', 'it is in the stream');
    }),
  ];
}

function nobodysCases(): readonly ContractCase[] {
  return [
    promise(
      'messages without a handler wait for one, and each of their handlers gets them in their order',
      async (kit) => {
        const before = await kit.own({ handlers: [handler('other', ['else'])] });
        const ids = [await kit.send('k'), await kit.send('k'), await kit.send('k')];
        const { unserved } = await before.session.tidy({ historyMs: 1_000_000, maxPending: undefined });
        mustEqual(
          unserved.map(({ reason, type, count }) => [reason, type, count]),
          [['no-handler', 'thing.done', 3]],
          'the housekeeper tells of them',
        );
        const worker = await kit.own({ handlers: [handler('first'), handler('second')] });
        await readInOrder(worker, ids, 2);
        mustEqual((await before.read()).ready.length, 0, 'nobody else gets them');
      },
    ),
    promise('a pinned handler gets the messages of its generation, those before its registration too', async (kit) => {
      const pinned = [handler('first', ['thing.done'], true)];
      const first = await kit.own({ handlers: pinned, generation: 1 });
      const [one, two] = [await kit.send('k', { generation: 1 }), await kit.send('k', { generation: 2 })];
      mustEqual((await first.readOne()).id, one, 'generation 1 gets its own');
      const { unserved } = await first.session.tidy({ historyMs: 1_000_000, maxPending: undefined });
      mustEqual(
        unserved.map(({ reason, handler: name, generation, count }) => [reason, name, generation, count]),
        [['generation-unserved', 'first', 2, 1]],
        'a generation without a worker is told of',
      );
      const second = await kit.own({ handlers: pinned, generation: 2 });
      mustEqual((await second.readOne()).id, two, 'generation 2 gets its own when it comes');
      const three = await kit.send('k', { generation: 2 });
      mustEqual((await second.readOne()).id, three, 'and what is sent from then on');
      mustEqual((await first.read()).ready.length, 0, 'generation 1 gets none of them');
    }),
  ];
}

function registeringCases(): readonly ContractCase[] {
  return [
    promiseOfOverlap(
      'a message sent while its handler registers stands before those that are sent later',
      async (kit) => {
        const { tx, commit } = await kit.begin();
        const before = kit.message('k');
        await kit.harness.store.append(tx, [before]);
        const joining = kit.join({ handlers: [handler('first'), handler('second')] });
        const after = await sendSome(kit);
        await commit();
        const worker = await joining;
        await worker.acquireAll();
        await readInOrder(worker, [before.id, ...after], 2);
      },
    ),
    promiseOfOverlap(
      'a message of a generation that comes at that time stands before those that are sent later',
      async (kit) => {
        const pinned = [handler('first', ['thing.done'], true)];
        await kit.own({ handlers: pinned, generation: 1 });
        const { tx, commit } = await kit.begin();
        const before = kit.message('k', { generation: 2 });
        await kit.harness.store.append(tx, [before]);
        const joining = kit.join({ handlers: pinned, generation: 2 });
        const after = await sendSome(kit, 2);
        await commit();
        const worker = await joining;
        await worker.acquireAll();
        await readInOrder(worker, [before.id, ...after], 1);
      },
    ),
    promiseOfOverlap('a message of a type that its handler just learns is adopted by the housekeeper', async (kit) => {
      await kit.own({ handlers: [handler('first', ['else'])] });
      const { tx, commit } = await kit.begin();
      const message = kit.message('k');
      await kit.harness.store.append(tx, [message]);
      const worker = await kit.join({ handlers: [handler('first', ['else', 'thing.done'])] });
      await commit();
      await worker.session.tidy({ historyMs: 1_000_000, maxPending: undefined });
      const lane = worker.lanes[0];
      const units = Array.from({ length: lane?.unitCount ?? 0 }, (_, bucket) => (lane?.firstUnit ?? 0) + bucket);
      const asked = units.map((unit) => ({ unit, after: 0, limit: 10, skipsBlocked: false }));
      const { ready } = await worker.session.read({ units: asked, since: undefined, dueLimit: 0 });
      mustEqual(
        ready.map(({ id }) => id),
        [message.id],
        'it is in the line then',
      );
    }),
  ];
}

/** Sends some while a worker registers, one after the other: whatever they know of it, they have an order. */
async function sendSome<Tx>(kit: ContractKit<Tx>, generation?: number): Promise<readonly string[]> {
  const ids: string[] = [];
  const about = generation === undefined ? {} : { generation };
  for (let turn = 0; turn < 3; turn++) {
    ids.push(await kit.send('k', about));
    await kit.harness.pass(30);
  }
  return ids;
}

async function readInOrder<Tx>(worker: Member<Tx>, ids: readonly string[], handlers: number): Promise<void> {
  const { ready } = await worker.read();
  mustEqual(ready.length, ids.length * handlers, 'each handler gets each message once');
  for (const { firstUnit, unitCount } of worker.lanes) {
    const mine = ready.filter(({ unit }) => unit >= firstUnit && unit < firstUnit + unitCount);
    mustEqual(
      mine.map(({ id }) => id),
      ids,
      'in the order they were sent',
    );
  }
}

function pick(value: object, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, (value as Record<string, unknown>)[name]]));
}
