import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');
const NOBODY = '00000000-0000-4000-8000-000000000000';

async function twoHandlers(server: Parameters<typeof OperatorDatabase.open>[0]): Promise<OperatorDatabase> {
  const database = await OperatorDatabase.open(server);
  await database.handler(1, 'mail', 'welcome');
  await database.handler(2, 'mail', 'receipt');
  return database;
}

describe('discard', () => {
  test('gives up what failed: it moves to the history with who and why, and the unit is told [S4.1]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ key: 'k', handler: 1 });
    await database.delivery({ id, handler: 2, key: 'k' });
    expect(await database.operator.discard(id, ANN)).toEqual({ kind: 'discarded', count: 1 });
    expect(await database.rows(id)).toMatchObject([{ handler: 2 }]);
    expect(await database.sql(`select * from $S.delivered`)).toMatchObject([
      {
        id,
        outcome: 1,
        ...ANN,
        attempts: 5,
        key: 'k',
        payload: { total: 5 },
        error: { code: 'SMTP_DOWN' },
        failure_history: [{ cycle: 0, attempts: 5, replayedAt: null, replayedBy: null }],
      },
    ]);
    expect((await database.operator.audit()).items).toMatchObject([{ verb: 'discard', ...ANN, handler: 'welcome' }]);
    expect(await database.pokes()).toBe(1);
  });

  test('takes what has not failed only when asked to', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ handler: 0, type: 'order.lost' });
    expect(await database.operator.discard(id, ANN)).toEqual({ kind: 'not-failed', status: 'ready' });
    expect(await database.operator.discard(id, ANN, { open: true })).toEqual({ kind: 'discarded', count: 1 });
    expect(await database.operator.discard(id, ANN)).toEqual({ kind: 'not-failed', status: 'discarded' });
  });

  test('takes one delivery by its own id or by the name of its handler', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1 });
    await database.dead({ id, handler: 2 });
    expect(await database.operator.discard(`${id}:2`, ANN)).toEqual({ kind: 'discarded', count: 1 });
    expect(await database.operator.discard(id, ANN, { handlers: ['welcome'] })).toEqual({
      kind: 'discarded',
      count: 1,
    });
    expect(await database.operator.discard(id, ANN, { handlers: ['nobody'] })).toMatchObject({
      kind: 'unknown-handler',
    });
  });

  test('needs a reason, and answers with words for ids it does not know', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead();
    await expect(database.operator.discard(id, { actor: 'ann', reason: '' })).rejects.toThrow('by.reason');
    expect(await database.operator.discard(NOBODY, ANN)).toEqual({ kind: 'not-found' });
    expect(await database.operator.discard('x', ANN)).toMatchObject({ kind: 'bad-id' });
  });

  test('of a key gives up all that failed of it for that handler; the rest of the key goes on [X.4]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    await database.dead({ key: 'k' });
    await database.dead({ key: 'k' });
    const next = await database.delivery({ key: 'k' });
    await database.dead({ key: 'k', handler: 2 });
    expect(await database.operator.discardKey('welcome', 'k', ANN)).toEqual({ kind: 'discarded', count: 2 });
    expect(await database.sql(`select id from $S.delivery where handler = 1`)).toEqual([{ id: next }]);
    expect((await database.operator.heldKeys()).items).toMatchObject([{ handler: 'receipt' }]);
  });

  test('and the worker meet at the row: whoever commits first wins [X.2]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ state: 'waiting', attempts: 1, error: { message: 'no' }, key: 'k' });
    const worker = await database.connect();
    await worker.query('begin');
    await worker.query(`delete from delivery where id = $1 and state = 1 and version = 0`, [id]);
    const discarded = database.operator.discard(id, ANN, { open: true });
    await database.waitingForLocks(1);
    await worker.query('commit');
    expect(await discarded).toEqual({ kind: 'not-found' });
    expect((await database.operator.audit()).items).toEqual([]);
  });
});

describe('edit', () => {
  test('keeps the old payload, raises the version, replays what failed and keeps the id [S4.4]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1, payload: { total: 'five' } });
    await database.delivery({ id, handler: 2, state: 'waiting', attempts: 1, payload: { total: 'five' } });
    expect(await database.operator.edit(id, { total: 5 }, ANN)).toEqual({ kind: 'edited', version: 1, count: 1 });
    expect(await database.rows(id)).toMatchObject([
      { handler: 1, state: 1, version: 1, cycle: 1, payload: { total: 5 }, idempotency_key: `key-of-${id}` },
      { handler: 2, state: 1, version: 1, cycle: 0, payload: { total: 5 } },
    ]);
    expect(await database.operator.show(id)).toMatchObject({
      message: {
        version: 1,
        payload: { total: 5 },
        edits: [{ version: 0, payload: { total: 'five' }, ...ANN }],
        audit: [{ verb: 'edit', details: { version: 1 } }, { verb: 'replay' }],
      },
    });
  });

  test('is refused once a handler has succeeded with the payload as it was', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1 });
    await database.delivery({ id, handler: 2, state: 'delivered' });
    expect(await database.operator.edit(id, {}, ANN)).toEqual({
      kind: 'already-delivered',
      handlers: ['mail/receipt'],
    });
    expect(await database.rows(id)).toMatchObject([{ version: 0, payload: { total: 5 } }]);
  });

  test('is refused where a handler may have succeeded at a time whose history is no longer kept', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1 });
    await database.sql(`update $S.meta set forgotten_until = now() + interval '1 hour'`);
    expect(await database.operator.edit(id, {}, ANN)).toEqual({
      kind: 'already-delivered',
      handlers: ['mail/receipt'],
    });
  });

  test('tells the owner of what is open of it too: that has the payload as it was', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1 });
    await database.delivery({ id, handler: 2 });
    expect(await database.operator.edit(id, {}, ANN)).toMatchObject({ kind: 'edited', count: 1 });
    // Once for the replay, and once for all that is open.
    expect(await database.pokes()).toBeGreaterThan(1);
  });

  test('waits for a handler that is about to succeed, and is refused then', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1 });
    await database.delivery({ id, handler: 2 });
    const worker = await database.connect();
    await worker.query('begin');
    await worker.query(
      `with d as (delete from delivery where id = $1 and handler = 2 returning *)
      insert into delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, type, payload, idempotency_key, source)
      select 0, id, handler, 0, version, 1, 0, 0, type, payload, idempotency_key, source from d`,
      [id],
    );
    const edited = database.operator.edit(id, {}, ANN);
    await database.waitingForLocks(1);
    await worker.query('commit');
    expect(await edited).toEqual({ kind: 'already-delivered', handlers: ['mail/receipt'] });
  });

  test('with a version is refused when somebody else has edited meanwhile', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ version: 1 });
    expect(await database.operator.edit(id, {}, ANN, { version: 0 })).toEqual({ kind: 'changed', version: 1 });
    expect(await database.operator.edit(id, {}, ANN, { version: 1 })).toMatchObject({ kind: 'edited', version: 2 });
  });

  test('answers with words for what has not failed, and throws for what cannot be stored', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const ready = await database.delivery();
    expect(await database.operator.edit(ready, {}, ANN)).toEqual({ kind: 'not-failed', status: 'ready' });
    expect(await database.operator.edit(NOBODY, {}, ANN)).toEqual({ kind: 'not-found' });
    expect(await database.operator.edit('x', {}, ANN)).toMatchObject({ kind: 'bad-id' });
    const id = await database.dead();
    await expect(database.operator.edit(id, { n: Number.NaN }, ANN)).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' });
  });
});

describe('cancel', () => {
  test('takes back a scheduled message from all its handlers before its time [S4.1]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ handler: 1, state: 'waiting', dueInSeconds: 3600 });
    await database.delivery({ id, handler: 2, state: 'waiting', dueInSeconds: 3600 });
    expect(await database.operator.cancel(id, ANN)).toEqual({ kind: 'cancelled' });
    expect(await database.rows(id)).toEqual([]);
    expect(await database.operator.find(id)).toMatchObject({
      message: { status: 'pending', deletedAt: expect.any(Date) },
    });
    expect(await database.operator.cancel(id, ANN)).toEqual({ kind: 'not-scheduled', status: 'cancelled' });
    expect((await database.operator.audit()).items).toMatchObject([{ verb: 'cancel' }, { verb: 'cancel' }]);
  });

  test('is refused once it is due, or was tried, or was never scheduled', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const cancel = (id: string): Promise<unknown> => database.operator.cancel(id, ANN);
    expect(await cancel(await database.delivery({ state: 'waiting', dueInSeconds: -1 }))).toEqual({
      kind: 'not-scheduled',
      status: 'waiting',
    });
    const tried = await database.delivery({ state: 'waiting', attempts: 1, error: { message: 'no' } });
    expect(await cancel(tried)).toEqual({ kind: 'not-scheduled', status: 'waiting' });
    expect(await cancel(await database.delivery())).toEqual({ kind: 'not-scheduled', status: 'ready' });
    expect(await cancel(NOBODY)).toEqual({ kind: 'not-found' });
    expect(await cancel('x')).toMatchObject({ kind: 'bad-id' });
    const scheduled = await database.delivery({ state: 'waiting', dueInSeconds: 3600 });
    expect(await cancel(`${scheduled}:1`)).toMatchObject({ kind: 'bad-id', problem: expect.stringContaining('all') });
    expect(await database.rows(scheduled)).toHaveLength(1);
  });

  test('is refused while one of its handlers is past it', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ handler: 1, state: 'waiting', dueInSeconds: 3600 });
    await database.delivery({ id, handler: 2, state: 'delivered' });
    expect(await database.operator.cancel(id, ANN)).toEqual({ kind: 'not-scheduled', status: 'waiting' });
    expect(await database.rows(id)).toHaveLength(1);
  });
});
