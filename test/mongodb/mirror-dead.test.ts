import { describe, expect } from 'vitest';
import { mirrorDead } from '../../src/mongodb/mirror-dead.ts';
import { type InboxRow, rowOf } from '../../src/mongodb/row.ts';
import { Rows } from '../../src/mongodb/rows.ts';
import { hostOf } from '../../src/mongodb/running.ts';
import type { Tenure } from '../../src/mongodb/worker.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { localBroker } from '../../src/testing/index.ts';
import { type Transport, transportOf } from '../../src/transport/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { openDb } from './outbox-stage.ts';

const test = needs('mongodb');

/** Copies what is dead by `copyDead`, after each idle round. */
async function stage(server: TestServer, copyDead: Transport['copyDead']) {
  const { db, service: name } = openDb(server);
  const service = `${name}-mirror`;
  const about = { db, collection: 'inbox_messages', service, effects: systemEffects, keepMs: 60_000 };
  const rows = new Rows<InboxRow>({ ...about, doneAt: [] });
  await rows.prepare();
  const kill = async (...ids: string[]) => {
    const dead = ids.map((id, place) => {
      const message = { id, type: 'order.placed', key: id, payload: '1', source: 'shop' };
      const row = rowOf(message as Parameters<typeof rowOf>[0], {
        _id: `${service} ${id}`,
        service,
        seq: place + 1,
        createdAt: new Date(),
      });
      return Object.assign(row, { state: 'dead' as const, deadAt: new Date(), isMirrored: false });
    });
    await rows.collection.insertMany(dead);
  };
  const transport: Transport = { ...transportOf(localBroker()), copyDead };
  const host = hostOf(service, { tell: () => undefined } as unknown as Parameters<typeof hostOf>[1], []);
  const idOf = ({ _id: id }: InboxRow): string => id.slice(service.length + 1);
  const mirror = mirrorDead({ rows, service, host, transport, idOf }, async () => ({ idleMs: 1 }));
  const round = () => mirror.round({ signal: new AbortController().signal } as Tenure);
  const copied = async () => {
    const found = await rows.collection.find({ service, isMirrored: true } as object).toArray();
    return found.map((row) => idOf(row as unknown as InboxRow));
  };
  return { rows, service, kill, mirror, round, copied };
}

describe('copies of the dead messages of an inbox in MongoDB', () => {
  test('are waited for when the inbox stops [S1.7]', async ({ mongodb }) => {
    const isCopying = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const { kill, mirror, round, copied } = await stage(mongodb, async (_host, letters) => {
      isCopying.resolve();
      await goOn.promise;
      return { done: letters };
    });
    await kill('a');
    await round();
    await isCopying.promise;
    const settled = mirror.settled();
    goOn.resolve();
    await settled;
    expect(await copied()).toEqual(['a']);
  });

  test('are made of later ones when a hundred before them cannot be copied [S1.7]', async ({ mongodb }) => {
    const { kill, mirror, round, copied } = await stage(mongodb, async (_host, letters) => ({
      done: letters.filter(({ delivery }) => delivery.id === 'good'),
      error: new RangeError('too large'),
    }));
    await kill(...Array.from({ length: 100 }, (_, n) => `bad${n}`), 'good');
    for (let rounds = 0; rounds < 3; rounds++) {
      await round();
      await mirror.settled();
    }
    expect(await copied()).toEqual(['good']);
  });

  test('are made again of one that was replayed and died while it was copied [S1.7]', async ({ mongodb }) => {
    const seen: number[] = [];
    const { rows, service, kill, mirror, round, copied } = await stage(mongodb, async (_host, letters) => {
      seen.push(...letters.map(({ delivery }) => delivery.cycle));
      const [_id] = [`${service} a`];
      if (seen.length === 1) {
        await rows.replay(_id);
        await rows.collection.updateOne({ _id }, { $set: { state: 'dead', isMirrored: false } } as object);
      }
      return { done: letters };
    });
    await kill('a');
    await round();
    await mirror.settled();
    expect(await copied()).toEqual([]);
    await round();
    await mirror.settled();
    expect(seen).toEqual([0, 1]);
    expect(await copied()).toEqual(['a']);
  });
});
