import { MongoClient } from 'mongodb';
import { event } from '../../src/index.ts';
import { idempotency } from '../../src/idempotency/index.ts';
import { mongoIdempotency, mongoInbox, mongoOutbox } from '../../src/mongodb/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { type BoundedCall, endOf, type RealServers } from './bounded-call.ts';
import { type SilentPeer, silentWay } from './silent-peer.ts';

const placed = event<number>('order.placed', { key: String });
const transport = () => transportOf(localBroker());

type MakeCall = (
  about: Pick<BoundedCall, 'call' | 'ends'> & { readonly isWarm?: boolean },
  use: (db: never, way: SilentPeer) => Promise<string>,
) => BoundedCall;

/** Every call to MongoDB. */
export function mongoCalls(servers: RealServers): readonly BoundedCall[] {
  const made: MakeCall = (about, use) => {
    let [way, client]: [SilentPeer | undefined, MongoClient | undefined] = [undefined, undefined];
    return {
      call: about.call,
      ends: about.ends,
      variant: about.isWarm ? 'after it has answered' : 'from the beginning',
      run: async (peer) => {
        if (about.isWarm) way = await silentWay(servers.mongodb);
        const { port } = way ?? peer;
        client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
          // So that its close does not wait for a server to say a lost commit to again.
          ...(about.isWarm && { serverSelectionTimeoutMS: 2_000 }),
        });
        return use(client.db(servers.schema) as never, way ?? peer);
      },
      isDriversOwn: true,
      end: async () => {
        way?.close();
        await client?.close();
      },
    };
  };
  return [...startingCalls(made), ...sendingCalls(made)];
}

function startingCalls(made: MakeCall): readonly BoundedCall[] {
  return [
    made({ call: 'mongoIdempotency()', ends: 'IDEMPOTENCY_STORE_DOWN' }, (db) =>
      endOf(
        idempotency({ service: 'bounds', store: mongoIdempotency({ db }), storeTimeoutMs: 200 }).once(
          'key',
          async () => 1,
        ),
      ),
    ),
    made({ call: 'mongoOutbox().prepare', ends: 'DATABASE_TIMEOUT' }, (db) =>
      endOf(mongoOutbox({ db, service: 'cold' }).prepare()),
    ),
    made({ call: 'mongoOutbox().start', ends: 'stopped', isWarm: true }, async (db, way) => {
      const running = await mongoOutbox<never>({ db, service: 'outbox' }).start({ transport: transport() });
      way.fallSilent();
      await running.stop();
      return 'stopped';
    }),
    made({ call: 'mongoInbox().start', ends: 'stopped', isWarm: true }, async (db, way) => {
      const inbox = mongoInbox<never>({ db, service: 'inbox' });
      inbox.on(placed, async () => undefined);
      const running = await inbox.start({ transport: transport() });
      way.fallSilent();
      await running.stop();
      return 'stopped';
    }),
  ];
}

function sendingCalls(made: MakeCall): readonly BoundedCall[] {
  return [
    made({ call: 'mongoOutbox().send', ends: 'DATABASE_TIMEOUT', isWarm: true }, async (db, way) => {
      const outbox = mongoOutbox<never>({ db, service: 'send' });
      await outbox.prepare();
      return endOf(
        outbox.transaction((session) => {
          way.fallSilent();
          return outbox.send(session, placed, 1);
        }),
      );
    }),
    made(
      { call: 'mongoOutbox().transaction', ends: 'CommitUnknown: the answer to a commit did not come', isWarm: true },
      async (db, way) => {
        const outbox = mongoOutbox<never>({ db, service: 'commit' });
        return endOf(
          outbox.transaction(async (session) => {
            await outbox.send(session, placed, 1);
            way.fallSilent();
          }),
        );
      },
    ),
    made({ call: 'mongoOutbox().dead', ends: 'DATABASE_TIMEOUT', isWarm: true }, async (db, way) => {
      const outbox = mongoOutbox<never>({ db, service: 'dead' });
      await outbox.prepare();
      way.fallSilent();
      return endOf(outbox.dead.replay('none'));
    }),
  ];
}
