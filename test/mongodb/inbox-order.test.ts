import type { ClientSession, Db } from 'mongodb';
import { describe, expect } from 'vitest';
import { Lines } from '../../src/mongodb/lines.ts';
import { receiveInto } from '../../src/mongodb/receive.ts';
import { type InboxRow, type Row, rowOf } from '../../src/mongodb/row.ts';
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
    doneAt: [],
    keepMs: 60_000,
    ...(types && { types: () => types }),
  });
  await Promise.all([rows.prepare(), new Lines(db, 'inbox_messages').prepare()]);
  let places = 0;
  /** A row as it lies there, behind those that were made before it. */
  const row = (id: string, about: Partial<Row> = {}): Row => {
    const at = { _id: `${service} ${id}`, service, seq: (places += 1), createdAt: new Date() };
    return { ...rowOf(message(id), at), ...about };
  };
  const read = async () => (await rows.read(100)).rows.map(({ _id: id }) => id.slice(service.length + 1));
  return { db, service, rows, row, read };
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

  test('stays when what is due is more than is read at once [S1.9]', async ({ mongodb }) => {
    const { rows, row, read } = await stage(mongodb);
    const due = { state: 'waiting', attempts: 1, dueAt: new Date(0) } as const;
    const payload = 'x'.repeat(9_000_000);
    const all = ['a', 'b', 'c'].map((key) => row(`${key}1`, { ...due, key, payload }));
    for (const key of ['a', 'b', 'c']) all.push(row(`${key}2`, { key }));
    await rows.collection.insertMany(all);
    const first = await read();
    expect(first).toHaveLength(4);
    for (const id of first.filter((one) => one.endsWith('2'))) expect(first).toContain(id.replace('2', '1'));
  });

  test('stays when one of two that wait is due before the one in front of it [S1.9]', async ({ mongodb }) => {
    const { rows, row, read } = await stage(mongodb);
    const waiting = { state: 'waiting', attempts: 1 } as const;
    await rows.collection.insertMany([
      row('m1', { ...waiting, dueAt: new Date(Date.now() + 60_000) }),
      row('m2', { ...waiting, dueAt: new Date(0) }),
    ]);
    expect(await read()).toEqual([]);
  });

  test('stays when one of a type that nobody here handles stands in between [S1.9]', async ({ mongodb }) => {
    const { rows, row, read } = await stage(mongodb, ['order.placed']);
    await rows.collection.insertMany([
      row('before'),
      row('unknown', { eventType: 'order.new' }),
      row('behind'),
      row('keyless unknown', { eventType: 'order.new', key: null }),
      row('keyless', { key: null }),
      row('other', { key: 'o' }),
    ]);
    expect(await read()).toEqual(['before', 'keyless', 'other']);
  });

  test('stays when more keys are held than a query can name [S1.9]', async ({ mongodb }) => {
    const { rows, row, read } = await stage(mongodb);
    const key = (n: number): string => `${n} ${'k'.repeat(5_000)}`;
    const dead = Array.from({ length: 4_000 }, (_, n) => row(`dead${n}`, { state: 'dead', key: key(n) }));
    await rows.collection.insertMany(dead);
    await rows.collection.insertMany([row('first', { key: key(0) }), row('last', { key: key(3_999) }), row('free')]);
    expect(await read()).toEqual(['free']);
  });

  test('stays when a message and the one behind it are committed while rows are read [S1.9]', async ({ mongodb }) => {
    const { db, service, rows, row } = await stage(mongodb, ['order.placed']);
    const left = { key: 'left', eventType: 'order.new' };
    const [early, late] = [row('m1', { seq: 5 }), row('m2', { seq: 25 })];
    const before = [0, 10, 20].map((seq) => row(`left${seq}`, { ...left, seq }));
    await rows.collection.insertMany([...before, row('other', { key: 'o', seq: 30 })]);
    // When the walk is in the middle: one with a place before it, and the next of its key behind it.
    const { find } = rows.collection;
    let isIn = false;
    rows.collection.find = ((...args: Parameters<typeof find>) => {
      const cursor = find.apply(rows.collection, args).hint('holdfast_line');
      const next = cursor[Symbol.asyncIterator].bind(cursor);
      const walk = async function* () {
        for await (const one of { [Symbol.asyncIterator]: next }) {
          yield one;
          if (isIn || one.seq < 20) continue;
          isIn = true;
          await db.collection<Row>('inbox_messages').insertOne(early);
          await db.collection<Row>('inbox_messages').insertOne(late);
        }
      };
      return Object.assign(cursor, { [Symbol.asyncIterator]: walk });
    }) as typeof find;
    const found = (await rows.read(1)).rows.map(({ _id: id }) => id);
    expect(isIn).toBe(true);
    expect(found).toEqual([`${service} other`]);
  });
});
