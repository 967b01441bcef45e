import { type ClientSession, type Collection, MongoClient } from 'mongodb';
import { describe, expect, onTestFinished } from 'vitest';
import { mongoIdempotency, mongoInbox, mongoOutbox } from '../../src/mongodb/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { FINISH, newClaim } from '../idempotency-stores/new-claim.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { orderPlaced } from './outbox-stage.ts';

const test = needs('mongodb');

type Effect = (session: ClientSession) => Promise<unknown>;

/** Runs an effect. Gives `kept`, or the code with which it failed. */
type Perform = (effect: Effect) => Promise<string>;

interface Stage {
  readonly perform: Perform;
  readonly lines: Collection<{ _id: string }>;
}

function opened({ url, namespace }: TestServer) {
  const client = new MongoClient(url);
  onTestFinished(() => client.close());
  const db = client.db(namespace);
  const name = `guard_${crypto.randomUUID().slice(0, 8)}`;
  return { db, name, lines: db.collection<{ _id: string }>(name) };
}

function codeOf(error: unknown): string {
  const { code, name } = error as { readonly code?: string; readonly name: string };
  return code ?? name;
}

const WAYS: readonly { readonly name: string; open(server: TestServer): Promise<Stage> }[] = [
  {
    name: 'run.commit',
    open: async (server) => {
      const { db, lines } = opened(server);
      const store = mongoIdempotency({ db });
      const perform: Perform = async (effect) => {
        const claim = newClaim();
        await store.claim(claim);
        const work = async (session: ClientSession) => ({ value: await effect(session), end: FINISH });
        return store.commit(claim, work).then(() => 'kept', codeOf);
      };
      return { perform, lines };
    },
  },
  {
    name: 'outbox.transaction',
    open: async (server) => {
      const { db, name, lines } = opened(server);
      const outbox = mongoOutbox({ db, service: name, collection: `${name}_outbox` });
      return { perform: (effect) => outbox.transaction(effect).then(() => 'kept', codeOf), lines };
    },
  },
  {
    name: 'a handler of the inbox',
    open: async (server) => {
      const { db, name, lines } = opened(server);
      const broker = localBroker();
      const inbox = mongoInbox({ db, service: name });
      const effects: Effect[] = [];
      const ended: PromiseWithResolvers<string>[] = [];
      inbox.on(orderPlaced, async ({ n }, session) => void (await effects[n]?.(session)));
      const observers = [
        (event: { kind: string; delivery?: { key?: string | undefined }; error?: unknown }) => {
          const one = ended[Number(event.delivery?.key?.slice(1))];
          if (event.kind === 'run-done') one?.resolve('kept');
          if (event.kind === 'run-failed') one?.resolve(codeOf(event.error));
        },
      ];
      const running = await inbox.start({ transport: transportOf(broker), pollMs: 20, observers });
      onTestFinished(() => running.stop());
      const perform: Perform = async (effect) => {
        const n = effects.push(effect) - 1;
        const end = Promise.withResolvers<string>();
        ended.push(end);
        const attributes = { specversion: '1.0', id: String(n), source: 'shop', type: 'order.placed' };
        const body = Buffer.from(JSON.stringify({ orderId: `o${n}`, n }));
        await broker.publish([{ type: 'order.placed', key: `o${n}`, isDead: false, attributes, headers: {}, body }]);
        return end.promise;
      };
      return { perform, lines };
    },
  },
];

const MISUSES: Record<string, (session: ClientSession) => unknown> = {
  commitTransaction: (session) => session.commitTransaction(),
  abortTransaction: (session) => session.abortTransaction(),
  endSession: (session) => session.endSession(),
  startTransaction: (session) => session.startTransaction(),
  withTransaction: (session) => session.withTransaction(async () => undefined),
  'await using': (session) => session[Symbol.asyncDispose](),
};

async function outcomes(session: ClientSession): Promise<string[]> {
  const codes: string[] = [];
  for (const misuse of Object.values(MISUSES)) {
    // Some throw, others reject.
    codes.push(await (async () => misuse(session))().then(() => 'done', codeOf));
  }
  return codes;
}

describe.for(WAYS)('the session of an effect in MongoDB, in $name,', ({ open }) => {
  test('refuses what would end its transaction before it runs, and is dead when the effect has ended [X.3]', async ({
    mongodb,
  }) => {
    const { perform, lines } = await open(mongodb);
    await lines.insertOne({ _id: 'there' });
    let old: ClientSession | undefined;
    let refused: string[] = [];
    const kept = perform(async (session) => {
      await lines.insertOne({ _id: 'before' }, { session });
      // As what traces calls does it: our own commit must not go through it.
      session.commitTransaction = async () => undefined;
      refused = await outcomes(session);
      await lines.insertOne({ _id: 'after' }, { session });
      old = session;
    });
    expect(await kept).toBe('kept');
    expect(refused).toEqual(Object.keys(MISUSES).map(() => 'TRANSACTION_CONTROL'));
    const late = async (): Promise<string> =>
      lines.insertOne({ _id: 'late' }, { session: old as ClientSession }).then(() => 'done', codeOf);
    expect(await late()).toBe('MongoExpiredSessionError');
    expect(await outcomes(old as ClientSession)).toEqual(Object.keys(MISUSES).map(() => 'TRANSACTION_NOT_OPEN'));
    let item: Promise<string> | undefined;
    const failing = perform(async (session) => {
      await lines.insertOne({ _id: 'of a failed effect' }, { session });
      old = session;
      // The others go on when one of them has failed: from the first moment on nothing of them is sent.
      item = new Promise((resolve) => setImmediate(resolve)).then(late);
      throw Object.assign(new TypeError('one item is wrong'), { code: 'ITEM' });
    });
    expect(await failing).toBe('ITEM');
    expect(await item).toBe('MongoExpiredSessionError');
    const control = perform(async (session) => {
      await lines.insertOne({ _id: 'undone' }, { session });
      await session.commitTransaction();
    });
    expect(await control).toBe('TRANSACTION_CONTROL');
    const found = await lines.find().sort({ _id: 1 }).toArray();
    expect(found.map(({ _id: id }) => id)).toEqual(['after', 'before', 'there']);
  });
});
