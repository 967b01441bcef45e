import type { ClientSession, Db } from 'mongodb';
import { describe, expect } from 'vitest';
import { Lines } from '../../src/mongodb/lines.ts';
import { receiveInto } from '../../src/mongodb/receive.ts';
import type { InboxRow } from '../../src/mongodb/row.ts';
import { Rows } from '../../src/mongodb/rows.ts';
import { systemEffects } from '../../src/system/effects.ts';
import type { ForeignMessage } from '../../src/outbox/outbox-store.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { openDb } from './outbox-stage.ts';

const test = needs('mongodb');

async function stage(server: TestServer, types?: readonly string[]) {
  const { db, service: name } = openDb(server);
  const service = `${name}-order`;
  const rows = new Rows<InboxRow>({
    db,
    collection: 'inbox_messages',
    service,
    effects: systemEffects,
    endedAt: 'processedAt',
    keepMs: 60_000,
    ...(types && { types: () => types }),
  });
  await Promise.all([rows.prepare(), new Lines(db, 'inbox_messages').prepare()]);
  return { db, service, rows };
}

/** Tells each time a place was given, or refused because another has the line. */
class WatchedLines extends Lines {
  readonly #told: (isGiven: boolean) => Promise<void> | void;

  constructor(db: Db, told: (isGiven: boolean) => Promise<void> | void) {
    super(db, 'inbox_messages');
    this.#told = told;
  }

  override async reserve(line: string, count: number, session?: ClientSession): Promise<number> {
    try {
      const first = await super.reserve(line, count, session);
      await this.#told(true);
      return first;
    } catch (error) {
      await this.#told(false);
      throw error;
    }
  }
}

function message(id: string, key = 'k', type = 'order.placed'): ForeignMessage {
  return { id, key, type, payload: '1', source: 'shop', sourceId: `local:order@${id}` } as ForeignMessage;
}

describe('the order of a key in an inbox', () => {
  test('stays when two processes store the same messages at the same time [S1.9]', async ({ mongodb }) => {
    const { db, service, rows } = await stage(mongodb);
    const isIn = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow = new WatchedLines(db, async () => {
      isIn.resolve();
      await goOn.promise;
    });
    const quick = new WatchedLines(db, (isGiven) => void (isGiven || goOn.resolve()));
    const first = receiveInto({ db, rows, lines: slow, service })([message('m1'), message('m2')]);
    await isIn.promise;
    // The same partition, given to another process while the first hangs.
    const second = receiveInto({ db, rows, lines: quick, service })([message('m1')]).finally(goOn.resolve);
    const results = (await Promise.all([first, second])).flat();
    expect(results.map(({ kind }) => kind).toSorted()).toEqual(['duplicate', 'stored', 'stored']);
    const stored = await rows.collection.find({ service }).sort({ seq: 1 }).toArray();
    expect(stored.map(({ _id: id }) => id)).toEqual([`${service} m1`, `${service} m2`]);
  });

  test('stores a message once that a batch has twice, and says so [S1.6]', async ({ mongodb }) => {
    const { db, service, rows } = await stage(mongodb);
    const receive = receiveInto({ db, rows, lines: new Lines(db, 'inbox_messages'), service });
    const results = await receive([message('m1'), message('m2'), message('m1')]);
    expect(results.map(({ kind }) => kind)).toEqual(['stored', 'stored', 'duplicate']);
    const again = await receive([message('m2'), message('m3')]);
    expect(again.map(({ kind }) => kind)).toEqual(['duplicate', 'stored']);
    expect(await rows.collection.countDocuments({ service })).toBe(3);
  });
});
