import { expect } from 'vitest';
import { mongoIdempotency, mongoInbox, mongoOutbox } from '../../src/mongodb/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { FINISH, newClaim, rivalOf } from '../idempotency-stores/new-claim.ts';
import { needs } from '../support/needs.ts';
import { noted, openDb } from './outbox-stage.ts';
import { privateMongodb } from './private-mongodb.ts';

needs('mongod')(
  'a single server keeps idempotency records, and is refused for all that needs transactions [S1.3] [S1.4] [S1.6]',
  async ({ mongod }) => {
    const { url } = await privateMongodb(mongod.url, { isAlone: true });
    const { db, service } = openDb({ url, namespace: 'single' });
    const refusal = { code: 'MONGODB_TRANSACTIONS_MISSING' };

    const store = mongoIdempotency({ db });
    const claim = newClaim();
    expect(await store.claim(claim)).toEqual({ kind: 'claimed', run: 1 });
    expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'running' });
    await expect(store.commit(claim, async () => ({ value: 1, end: FINISH }))).rejects.toMatchObject(refusal);
    expect(await store.end(claim, FINISH)).toBe('ended');

    const transport = transportOf(localBroker());
    const outbox = mongoOutbox({ db, service });
    await expect(outbox.start({ transport })).rejects.toMatchObject(refusal);
    await expect(outbox.transaction((session) => outbox.send(session, noted, { n: 1 }))).rejects.toMatchObject(refusal);

    const inbox = mongoInbox({ db, service });
    await expect(inbox.start({ transport })).rejects.toMatchObject({ code: 'HANDLERS_MISSING' });
    inbox.on(noted, () => undefined);
    await expect(inbox.start({ transport })).rejects.toMatchObject(refusal);
  },
);
