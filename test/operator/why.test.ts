import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase, SMTP_ERROR } from './operator-database.ts';

const test = needs('postgres');

/** The one reason of the message's one delivery, with its sentence. */
async function reasonOf(database: OperatorDatabase, id: string): Promise<{ kind: string; sentence: string }> {
  const answer = await database.operator.why(id);
  if (answer.kind !== 'why' || answer.deliveries.length !== 1) throw new Error(JSON.stringify(answer));
  const [delivery] = answer.deliveries;
  return { ...(delivery?.reason as { kind: string }), sentence: delivery?.sentence ?? '' };
}

/** A handler that a worker serves: nothing stands in the way of its messages. */
async function served(server: Parameters<typeof OperatorDatabase.open>[0]): Promise<OperatorDatabase> {
  const database = await OperatorDatabase.open(server);
  await database.handler(1, 'mail', 'welcome');
  await database.worker('host:7', [1]);
  return database;
}

describe('why', () => {
  test('queued: it is in line at the worker that owns its unit [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const id = await database.delivery({ key: 'k' });
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'queued', owner: 'host:7' });
  });

  test('scheduled: its sender asked for a later time [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const id = await database.delivery({ state: 'waiting', dueInSeconds: 3600 });
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'scheduled', dueAt: expect.any(Date) });
  });

  test('retry-wait: an attempt failed and the next is not due [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const id = await database.delivery({ state: 'waiting', attempts: 2, error: SMTP_ERROR, key: 'k' });
    expect(await reasonOf(database, id)).toMatchObject({
      kind: 'retry-wait',
      attempts: 2,
      lastError: 'SMTP_DOWN: no answer',
    });
  });

  test('failed: it is a dead letter, and the sentence says to replay or discard it [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const reason = await reasonOf(database, await database.dead());
    expect(reason).toMatchObject({ kind: 'failed', attempts: 5 });
    expect(reason.sentence).toMatch(/Mend the cause and replay it, or discard it\.$/);
  });

  test('behind: a holder of its key goes first, and is named [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const head = await database.dead({ key: 'k' });
    await database.delivery({ key: 'other' });
    const id = await database.delivery({ key: 'k' });
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'behind', messageId: head, state: 'failed', key: 'k' });
  });

  test('behind: an earlier message of its key that is still in line goes first [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const first = await database.delivery({ key: 'k' });
    const second = await database.delivery({ key: 'k' });
    expect(await reasonOf(database, second)).toMatchObject({ kind: 'behind', messageId: first, state: 'ready' });
    expect(await reasonOf(database, first)).toMatchObject({ kind: 'queued' });
  });

  test('behind: of several holders the earliest goes first [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const head = await database.dead({ key: 'k' });
    const parked = await database.dead({ key: 'k' });
    await database.operator.replay(parked, ANN);
    expect(await reasonOf(database, parked)).toMatchObject({ kind: 'behind', messageId: head, state: 'failed' });
  });

  test("a holder of another key in the same unit stands in nobody else's way [X.6]", async ({ postgres }) => {
    const database = await served(postgres);
    const id = await database.delivery({ key: 'k' });
    const other = await database.dead({ key: 'other' });
    await database.sql(`update $S.delivery set unit = (select unit from $S.delivery where id = $1) where id = $2`, [
      id,
      other,
    ]);
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'queued' });
  });

  test('handler-paused: an operator paused its handler [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const id = await database.delivery();
    await database.operator.pause('welcome', ANN);
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'handler-paused', since: expect.any(Date) });
  });

  test('all-paused: an operator paused everything [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const id = await database.delivery();
    await database.operator.pauseAll(ANN);
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'all-paused' });
  });

  test('no-handler: nobody takes its type [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const id = await database.delivery({ handler: 0, type: 'order.lost' });
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'no-handler', type: 'order.lost' });
  });

  test('no-worker: its handler is known, but no live worker serves it [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const id = await database.delivery();
    await database.sql(`update $S.worker set expires_at = now() - interval '1 second'`);
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'no-worker' });
  });

  test('generation-unserved: workers of its handler live, none of its generation [X.6] [S4.5]', async ({
    postgres,
  }) => {
    const database = await OperatorDatabase.open(postgres);
    await database.handler(1, 'mail', 'welcome', { generations: [7, 8] });
    await database.worker('new:1', [11]);
    const known = await database.delivery({ generation: 7 });
    expect(await reasonOf(database, known)).toMatchObject({ kind: 'generation-unserved', generation: 7 });
    const neverSeen = await database.delivery({ generation: 6 });
    expect(await reasonOf(database, neverSeen)).toMatchObject({ kind: 'generation-unserved', generation: 6 });
    const present = await database.delivery({ generation: 8 });
    expect(await reasonOf(database, present)).toMatchObject({ kind: 'queued', owner: 'new:1' });
  });

  test('type-unknown: its worker runs code that does not take the type [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const error = { name: 'HoldfastError', code: 'HANDLER_TYPE_UNKNOWN', kind: 'unknown', message: 'not taken' };
    const id = await database.delivery({ state: 'waiting', error });
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'type-unknown', type: 'order.placed' });
  });

  test('unit-unowned: workers live, but none has taken its unit [X.6]', async ({ postgres }) => {
    const database = await OperatorDatabase.open(postgres);
    await database.handler(1, 'mail', 'welcome');
    const worker = await database.worker('host:7', [1], { owns: false });
    const id = await database.delivery();
    await database.sql(`update $S.lease set owner = $1 where unit <> (select unit from $S.delivery)`, [worker]);
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'unit-unowned' });
  });

  test('running: a live worker reported it with its heartbeat; a dead one says nothing [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    const id = await database.delivery();
    await database.sql(
      `insert into $S.running select d.id, d.unit, w.id, 1, now() from $S.delivery d, $S.worker w where d.id = $1`,
      [id],
    );
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'running', worker: 'host:7', attempt: 1 });
    await database.sql(`update $S.worker set expires_at = now() - interval '1 second'`);
    expect(await reasonOf(database, id)).toMatchObject({ kind: 'no-worker' });
  });

  test('delivered, discarded, cancelled: what is over says when and by whom [X.6]', async ({ postgres }) => {
    const database = await served(postgres);
    expect(await reasonOf(database, await database.delivery({ state: 'delivered' }))).toMatchObject({
      kind: 'delivered',
    });
    const dead = await database.dead();
    await database.operator.discard(dead, { actor: 'ann', reason: 'a test order' });
    expect(await reasonOf(database, dead)).toMatchObject({
      kind: 'discarded',
      actor: 'ann',
      reason: 'a test order',
    });
    const later = await database.delivery({ state: 'waiting', dueInSeconds: 3600 });
    await database.operator.cancel(later, { actor: 'bob' });
    expect(await reasonOf(database, later)).toMatchObject({ kind: 'cancelled', actor: 'bob' });
  });

  test('each delivery of a message has its own reason; a dead letter id asks for one of them [X.6]', async ({
    postgres,
  }) => {
    const database = await served(postgres);
    await database.handler(2, 'mail', 'receipt');
    const id = await database.dead();
    await database.delivery({ id, handler: 2 });
    const both = await database.operator.why(id);
    expect(both).toMatchObject({
      deliveries: [
        { handler: 'welcome', reason: { kind: 'failed' } },
        { handler: 'receipt', reason: { kind: 'no-worker' } },
      ],
    });
    const one = await database.operator.why(`${id}:2`);
    expect(one).toMatchObject({ deliveries: [{ id: `${id}:2`, service: 'mail', handler: 'receipt' }] });
  });

  test('an unknown and a malformed id are answers, not errors', async ({ postgres }) => {
    const database = await served(postgres);
    expect(await database.operator.why('00000000-0000-4000-8000-000000000000')).toEqual({ kind: 'not-found' });
    expect(await database.operator.why('order 7')).toMatchObject({ kind: 'bad-id' });
  });
});
