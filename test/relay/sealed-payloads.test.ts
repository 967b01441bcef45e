import { describe, expect } from 'vitest';
import { aesSealing, event, type Sealing } from '../../src/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from './service.ts';

const test = needs('postgres');

const [OLD, NEW] = ['an old secret of more than 32 letters', 'a new secret of more than 32 letters!'];
const oldSealing = aesSealing({ current: '2025', keys: { '2025': OLD } });
const turned = aesSealing({ current: '2026', keys: { '2025': OLD, '2026': NEW } });
const placed = event<{ iban: string }>('order.placed', { key: () => 'k' });
const shipped = event<{ iban: string }>('order.shipped');
const ORDER = { iban: 'DE02120300000000202051' };
const ANN = { actor: 'ann', reason: 'mended' };

describe('a sealed payload', () => {
  test('is plain to its handlers alone: not in the database, at a broker, in dead letters, edits or to operators without the key [X.17]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const broker = localBroker();
    const orders = here.another({
      sealing: oldSealing,
      transport: [{ events: ['order.shipped'], transport: transportOf(broker) }],
    });
    const seen: unknown[] = [];
    let isMended = false;
    orders.on(
      placed,
      'book',
      (order) => {
        seen.push(order);
        if (!isMended) throw Object.assign(new Error('refused'), { retryable: false });
      },
      { policy: { maxAttempts: 1 } },
    );
    const relay = await here.start({ of: orders });
    const { id } = await here.inTransaction((tx) => orders.send(tx, placed, ORDER));
    await expect.poll(() => here.column('select state from $.delivery')).toEqual([2]);
    expect(seen).toEqual([ORDER]);
    await here.inTransaction((tx) => orders.send(tx, shipped, ORDER));
    await expect.poll(() => broker.published('order')).toHaveLength(1);
    expect(broker.published('order').map(({ body }) => Buffer.from(body).toString())).toEqual([
      expect.stringMatching(/^\{"\$sealed": ?\{"key": ?"2025"/),
    ]);
    const blind = postgresOperator({ pool: here.pool, schema: here.schema });
    expect(await blind.show(id)).toMatchObject({ message: { payload: { $sealed: { key: '2025' } } } });
    expect(await blind.deadLetters({ payload: [{ path: ['iban'], value: ORDER.iban }] })).toMatchObject({
      items: [],
      note: expect.stringContaining('sealed'),
    });
    expect(await blind.messages({ payload: [{ path: ['iban'], value: ORDER.iban }] })).toMatchObject({
      items: [],
      note: expect.stringContaining('sealed'),
    });
    expect((await blind.deadLetters({ type: 'order.placed' })).note).toBeUndefined();
    await expect(blind.edit(id, { iban: 'x' }, ANN)).rejects.toMatchObject({ code: 'PAYLOAD_SEALED' });
    const operator = postgresOperator({ pool: here.pool, schema: here.schema, sealing: turned });
    expect(await operator.show(id)).toMatchObject({ message: { payload: ORDER } });
    isMended = true;
    await operator.edit(id, { iban: 'DE99' }, ANN);
    // The edit is sealed under the new key, which this process does not have: a dead letter that says so, tried once.
    await expect
      .poll(() => here.column(`select error ->> 'code' from $.delivery where state = 2`))
      .toEqual(['PAYLOAD_NOT_OPENED']);
    expect(await here.column(`select error ->> 'message' from $.delivery where state = 2`)).toEqual([
      expect.stringContaining('under the key "2026" and cannot be opened: there is no key of that name here'),
    ]);
    expect(await here.column('select attempts from $.delivery where state = 2')).toEqual([1]);
    const everything =
      await here.column(`select row_to_json(d)::text from $.delivery d union all select row_to_json(d)::text from $.delivered d
      union all select row_to_json(e)::text from $.edit e union all select row_to_json(a)::text from $.audit a`);
    expect(everything.length).toBeGreaterThan(3);
    for (const row of everything) expect(row).not.toMatch(/DE02|DE99/);
    expect(await operator.show(id)).toMatchObject({
      message: { payload: { iban: 'DE99' }, edits: [{ payload: ORDER }] },
    });
    await relay.stop();
    // A process with both keys handles what was sealed under either.
    const next = here.another({ sealing: turned });
    next.on(placed, 'book', (order) => void seen.push(order));
    await here.start({ of: next });
    await operator.replay(id, ANN);
    await expect.poll(() => seen).toEqual([ORDER, { iban: 'DE99' }]);
  });

  test('opens after its key was turned, and is refused where it was changed, moved to another message, or the key is another [X.17]', async () => {
    const about = { id: 'm1', type: 'order.placed', person: undefined };
    const sealed = await oldSealing.seal('{"a":1}', about);
    expect(sealed.keyId).toBe('2025');
    expect(await turned.open(sealed, about)).toBe('{"a":1}');
    expect((await turned.seal('1', about)).keyId).toBe('2026');
    const fails = async (sealing: Sealing, change: Partial<typeof sealed>, to = about): Promise<unknown> =>
      Promise.resolve(sealing.open({ ...sealed, ...change }, to)).catch((error: unknown) => error);
    const code = 'PAYLOAD_NOT_OPENED';
    expect(await fails(turned, {}, { ...about, id: 'm2' })).toMatchObject({
      code,
      message: expect.stringContaining('another message'),
    });
    expect(await fails(turned, { text: `${sealed.text.slice(0, -2)}AA` })).toMatchObject({ code });
    expect(await fails(turned, { keyId: '2026' })).toMatchObject({
      code,
      message: expect.stringContaining('is another one'),
    });
    expect(await fails(turned, { keyId: 'constructor' })).toMatchObject({
      code,
      message: expect.stringContaining('no key of that name'),
    });
  });
});
