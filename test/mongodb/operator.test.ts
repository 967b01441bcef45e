import { describe, expect, onTestFinished } from 'vitest';
import { event } from '../../src/index.ts';
import { mongoInbox, mongoOperator } from '../../src/mongodb/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { needs } from '../support/needs.ts';
import { BY, operatedShop, ownDatabase } from './operated-shop.ts';

const test = needs('mongodb');

describe('an operator on MongoDB', () => {
  test('lists what failed with its error and key, and finds it by service, handler, type, key, code and words [S0.6]', async ({
    mongodb,
  }) => {
    const { send, start, dead, operator } = operatedShop(mongodb);
    const [id] = await send(['bad1', 5], ['good', 7], ['bad2', 9]);
    await start();
    const letters = await dead(2);
    expect(letters.map(({ key }) => String(key)).toSorted((a, b) => a.localeCompare(b))).toEqual(['bad1', 'bad2']);
    const first = letters.find(({ messageId }) => messageId === id);
    expect(first).toMatchObject({
      service: 'stock',
      handler: 'inbox',
      type: 'order.placed',
      source: 'shop',
      status: 'pending',
      attempts: 1,
      holds: true,
      error: { code: 'NO_STOCK', message: 'no stock for bad1' },
    });
    const counts = await Promise.all(
      [
        { service: 'stock' },
        { service: 'shop' },
        { handler: 'stock/inbox', type: 'order.placed' },
        { key: 'bad1' },
        { errorCode: 'NO_STOCK', group: first?.group },
        { errorCode: 'ELSE' },
        { search: 'FOR BAD2' },
        { payload: [{ path: ['total'], value: 9 }] },
        { since: new Date(Date.now() - 60_000) },
        { until: new Date(Date.now() - 60_000) },
        { status: 'replayed' as const },
      ].map(async (filter) => (await operator.deadLetters(filter)).items.length),
    );
    expect(counts).toEqual([2, 0, 2, 1, 2, 0, 1, 1, 2, 0, 0]);
    const page = await operator.deadLetters({ limit: 1 });
    const rest = await operator.deadLetters({ limit: 1, cursor: page.next });
    expect([...page.items, ...rest.items].map((one) => one.id)).toEqual(letters.map((one) => one.id));
    expect(rest.next).toBeUndefined();
  });

  test('replays one dead letter in place, once however many do so at once; the audit says who and why [S0.6]', async ({
    mongodb,
  }) => {
    const { send, start, dead, operator, state, done } = operatedShop(mongodb);
    await send(['bad1', 1], ['bad1', 2]);
    await start();
    const [letter] = await dead(1);
    const id = letter?.id ?? '';
    state.isMended = true;
    const outcomes = await Promise.all([operator.replay(id, BY), operator.replay(id, { actor: 'bob' })]);
    expect(outcomes.filter(({ kind }) => kind === 'replayed')).toEqual([{ kind: 'replayed', count: 1 }]);
    await expect.poll(() => done).toEqual(['bad1:1', 'bad1:2']);
    const { items } = await operator.audit();
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({
      verb: 'replay',
      messageId: letter?.messageId,
      service: 'stock',
      handler: 'inbox',
    });
    const shown = await operator.show(id);
    expect(shown).toMatchObject({
      kind: 'found',
      message: {
        status: 'delivered',
        payload: { orderId: 'bad1', total: 1 },
        audit: [{ verb: 'replay' }],
        deliveries: [
          { service: 'shop', handler: 'to-local', status: 'delivered' },
          {
            service: 'stock',
            status: 'delivered',
            cycle: 1,
            failureHistory: [{ attempts: 1, error: { code: 'NO_STOCK' } }],
          },
        ],
      },
    });
    expect((await operator.deadLetters({ status: 'replayed' })).items).toMatchObject([
      { id, status: 'replayed', cycle: 1 },
    ]);
    expect(await operator.replay(id, BY)).toEqual({ kind: 'not-failed', status: 'delivered' });
  });

  test('replays all that fit, the oldest first, and no more than asked for [S0.6]', async ({ mongodb }) => {
    const { send, start, dead, operator, state, done } = operatedShop(mongodb);
    await send(['bad1', 1], ['bad2', 2], ['bad3', 3]);
    await start();
    await dead(3);
    state.isMended = true;
    expect(await operator.replayWhere({ service: 'shop' }, BY)).toEqual({ kind: 'replayed', count: 0 });
    expect(await operator.replayWhere({ service: 'stock', limit: 2 }, BY)).toEqual({ kind: 'replayed', count: 2 });
    await expect.poll(() => done.toSorted()).toEqual(['bad1:1', 'bad2:2']);
    expect((await operator.audit({ verb: 'replay', actor: 'ann' })).items).toHaveLength(2);
  });

  test('discards a dead letter with a reason, and those behind it go on [S0.6]', async ({ mongodb }) => {
    const { send, start, dead, operator, done, state } = operatedShop(mongodb);
    await send(['bad1', 1], ['bad1', 2]);
    await start();
    const [letter] = await dead(1);
    const id = letter?.id ?? '';
    await expect(operator.discard(id, { actor: 'ann', reason: '' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    state.isMended = true;
    expect(await operator.discard(id, BY)).toEqual({ kind: 'discarded', count: 1 });
    await expect.poll(() => done).toEqual(['bad1:2']);
    expect(await operator.discard(id, BY)).toEqual({ kind: 'not-failed', status: 'discarded' });
    const why = await operator.why(id);
    expect(why).toMatchObject({ deliveries: [{ reason: { kind: 'discarded', actor: 'ann', reason: BY.reason } }] });
    expect((await operator.deadLetters({ status: 'discarded' })).items).toMatchObject([{ id, status: 'discarded' }]);
  });

  test('says why a message is not done: behind a dead one, failed, or without a process [S0.6]', async ({
    mongodb,
  }) => {
    const { send, start, dead, operator } = operatedShop(mongodb);
    const [first = '', second = ''] = await send(['bad1', 1], ['bad1', 2]);
    expect(await operator.why(first)).toMatchObject({
      deliveries: [{ handler: 'to-broker', reason: { kind: 'no-worker' } }],
    });
    await start();
    await dead(1);
    await expect
      .poll(async () => {
        const why = await operator.why(second);
        return why.kind === 'why' ? why.deliveries.map(({ reason }) => reason.kind) : [];
      })
      .toEqual(['delivered', 'behind']);
    const ofFirst = await operator.why(first);
    expect(ofFirst.kind === 'why' && ofFirst.deliveries.map(({ reason }) => reason.kind)).toEqual([
      'delivered',
      'failed',
    ]);
    expect(await operator.why('0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11')).toEqual({ kind: 'not-found' });
    expect(await operator.why('nonsense')).toMatchObject({ kind: 'bad-id' });
  });

  test('lists messages once each with all their deliveries, page by page, and by state, type, key and error [S0.6]', async ({
    mongodb,
  }) => {
    const { send, start, dead, operator } = operatedShop(mongodb);
    const ids = await send(['good1', 1], ['bad1', 2], ['good2', 3], ['bad1', 4]);
    await start();
    await dead(1);
    await expect.poll(async () => (await operator.messages({ status: 'delivered' })).items.length).toBe(2);
    const listed: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await operator.messages({ limit: 1, cursor });
      listed.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(listed.toSorted()).toEqual(ids.toSorted());
    const one = async (filter: Parameters<typeof operator.messages>[0]) =>
      (await operator.messages(filter)).items.map(({ id }) => ids.indexOf(id)).toSorted((a, b) => a - b);
    expect(await one({ status: 'failed' })).toEqual([1]);
    expect(await one({ status: 'pending' })).toEqual([3]);
    expect(await one({ type: 'order.*', key: 'bad1' })).toEqual([1, 3]);
    expect(await one({ type: 'other' })).toEqual([]);
    expect(await one({ error: 'no_stock' })).toEqual([1]);
    expect(await one({ handler: 'shop/to-local' })).toEqual([0, 1, 2, 3]);
    expect(await one({ payload: [{ path: ['total'], value: 3 }] })).toEqual([2]);
    expect((await operator.messages({ status: 'in_flight' })).note).toContain('does not know');
    expect(await operator.messageTabs()).toContainEqual({ tab: 'failed', count: 1, precision: 'exact' });
  });
});

describe('the numbers of an operator on MongoDB', () => {
  test('name every handler with what it has to do, its held keys and whether a process works for it [S0.6]', async ({
    mongodb,
  }) => {
    const { send, start, dead, operator } = operatedShop(mongodb);
    await send(['bad1', 1], ['bad1', 2], ['bad1', 3]);
    const { stop } = await start();
    await dead(1);
    await expect
      .poll(async () => (await operator.stats()).handlers)
      .toMatchObject([
        { service: 'shop', handler: 'to-local', pending: 0, failed: 0, heldKeys: 0, workers: 1 },
        { service: 'stock', handler: 'inbox', pending: 2, failed: 1, heldKeys: 1, workers: 1, oldestMs: undefined },
      ]);
    expect((await operator.heldKeys()).items).toMatchObject([
      {
        key: 'bad1',
        service: 'stock',
        behind: 2,
        failed: 1,
        holder: { status: 'failed', error: { code: 'NO_STOCK' } },
      },
    ]);
    const overview = await operator.overview();
    expect(overview.attention.map(({ kind }) => kind)).toEqual(['dead-letters', 'keys-held']);
    expect(overview.points).toEqual([]);
    expect((await operator.handlers()).map(({ types }) => types.includes('order.placed'))).toEqual([false, true]);
    expect((await operator.handlers())[0]?.types).toEqual(['*']);
    const system = await operator.system();
    expect(system).toMatchObject({ server: expect.stringContaining('MongoDB') as unknown, isPaused: false });
    expect(system.findings.every(({ level }) => level === 'ok')).toBe(true);
    expect(system.workers).toHaveLength(2);
    await stop();
    expect((await operator.overview()).attention[0]).toMatchObject({ kind: 'no-worker' });
  });

  test('group dead letters by their cause, and replay a key in its order [S0.6]', async ({ mongodb }) => {
    const { send, start, dead, operator, state, done } = operatedShop(mongodb);
    await send(['bad1', 1], ['bad2', 2]);
    await start();
    const [letter] = await dead(2);
    const { items } = await operator.groups();
    expect(letter?.group).toMatch(/^1-[0-9a-f]{16}$/);
    expect(items).toMatchObject([{ id: letter?.group, pending: 2, state: 'open', error: { code: 'NO_STOCK' } }]);
    expect(await operator.group(letter?.group ?? '')).toMatchObject({
      kind: 'found',
      sample: { type: 'order.placed' },
    });
    state.isMended = true;
    expect(await operator.replayKey('stock/inbox', 'bad2', BY)).toEqual({ kind: 'replayed', count: 1 });
    expect(await operator.skipKey('inbox', 'bad1', BY)).toMatchObject({ kind: 'skipped' });
    expect(await operator.replayKey('mailer', 'bad2', BY)).toMatchObject({ kind: 'unknown-handler' });
    await expect.poll(() => done).toEqual(['bad2:2']);
  });

  test('are there for a database without anything of ours', async ({ mongodb }) => {
    const operator = mongoOperator({ db: ownDatabase(mongodb).db });
    expect(await operator.handlers()).toEqual([]);
    expect((await operator.overview()).verdict).toContain('need');
    expect((await operator.messages()).items).toEqual([]);
    expect((await operator.idempotencyRecords()).items).toEqual([]);
    expect((await operator.system()).findings.map(({ level }) => level)).toEqual(['ok', 'warning', 'warning']);
  });

  test('edit the payload of a failed message in place: the old one is kept, and what failed runs again with the new [S0.6]', async ({
    mongodb,
  }) => {
    const { send, start, dead, operator, done } = operatedShop(mongodb);
    await send(['bad1', 1], ['bad1', 2]);
    await start();
    const [letter] = await dead(1);
    const id = letter?.id ?? '';
    expect(await operator.edit(id, { orderId: 'good', total: 3 }, BY, { version: 7 })).toEqual({
      kind: 'changed',
      version: 0,
    });
    const outcomes = await Promise.all([
      operator.edit(id, { orderId: 'good', total: 3 }, BY, { version: 0 }),
      operator.edit(id, { orderId: 'good', total: 4 }, BY, { version: 0 }),
    ]);
    expect(outcomes.filter(({ kind }) => kind === 'edited')).toEqual([{ kind: 'edited', version: 1, count: 1 }]);
    await expect.poll(() => done.length).toBe(1);
    expect(done[0]).toMatch(/^good:[34]$/);
    await expect
      .poll(() => operator.show(id))
      .toMatchObject({
        kind: 'found',
        message: {
          version: 1,
          edits: [{ version: 0, payload: { orderId: 'bad1', total: 1 }, actor: 'ann', reason: 'stock is there again' }],
          audit: [{ verb: 'edit', actor: 'ann', details: { version: 1 } }],
          deliveries: [
            { service: 'shop', status: 'delivered', version: 0 },
            { service: 'stock', status: 'delivered', version: 1, failureHistory: [{ attempts: 1, replayedBy: 'ann' }] },
          ],
        },
      });
    expect(await operator.edit(id, { orderId: 'late', total: 1 }, BY)).toEqual({
      kind: 'already-delivered',
      handlers: ['stock/inbox'],
    });
    await expect(operator.edit(id, undefined, BY)).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' });
    expect(await operator.edit('0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11', {}, BY)).toEqual({ kind: 'not-found' });
  });

  test('give every inbox that has not ended the edited payload, and refuse an edit of what has not failed', async ({
    mongodb,
  }) => {
    const { db, send, start, dead, operator, done } = operatedShop(mongodb);
    const [id = ''] = await send(['bad1', 1]);
    const stage = await start();
    await dead(1);
    await stage.stop();
    // Another service of the same database has the message too, and has not begun with it.
    const inbox = db.collection<{ _id: string; service: string; state: string }>('inbox_messages');
    const [row] = await inbox.find({ service: 'stock' }).toArray();
    await inbox.insertOne({ ...row, _id: `billing ${id}`, service: 'billing', state: 'open' });
    expect(await operator.edit(id, { orderId: 'good', total: 2 }, BY)).toMatchObject({ kind: 'edited', count: 1 });
    const rows = await inbox.find({}).toArray();
    expect(rows).toEqual(
      rows.map(() =>
        expect.objectContaining({ payload: { orderId: 'good', total: 2 }, version: 1, replays: 1, state: 'open' }),
      ),
    );
    expect(await operator.edit(id, { orderId: 'good', total: 3 }, BY)).toMatchObject({ kind: 'not-failed' });
    expect(done).toEqual([]);
  });

  test('edit while another inbox runs the old payload: that run is refused its end, and begins again with the new one', async ({
    mongodb,
  }) => {
    const { db, broker, send, start, dead, operator } = operatedShop(mongodb);
    const seen: number[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const billing = mongoInbox({ db, service: 'billing' });
    const orders = db.collection<{ total: number }>('billed');
    await db.createCollection('billed');
    billing.on(event<{ total: number }>('order.placed'), async ({ total }, session) => {
      seen.push(total);
      if (total === 1) await held;
      await orders.insertOne({ total }, { session });
    });
    await send(['bad1', 1]);
    await start();
    const running = await billing.start({ transport: transportOf(broker), pollMs: 20 });
    onTestFinished(() => running.stop());
    const [letter] = await dead(1);
    await expect.poll(() => seen).toContain(1);
    expect(await operator.edit(letter?.id ?? '', { orderId: 'good', total: 2 }, BY)).toMatchObject({ kind: 'edited' });
    release();
    await expect.poll(() => orders.find({}, { projection: { _id: 0 } }).toArray()).toEqual([{ total: 2 }]);
    expect(seen).toContain(2);
  });

  test('refuse what needs PostgreSQL with one code and the next step, and change nothing', async ({ mongodb }) => {
    const operator = mongoOperator({ db: ownDatabase(mongodb).db });
    const id = '0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11';
    for (const refused of [
      operator.trace(id),
      operator.breakers(),
      operator.pauseAll(BY),
      operator.edit(id, {}, BY, { generation: 2 }),
      operator.bulks(),
      operator.commands(),
      operator.replay(id, BY, { generation: 2 }),
    ])
      await expect(refused).rejects.toMatchObject({
        code: 'NOT_ON_MONGODB',
        message: expect.stringContaining('docs/mongodb.md') as unknown,
      });
    expect((await operator.audit()).items).toEqual([]);
  });
});
