import { connect } from 'node:net';
import { holdfast } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { startOrderService } from '../../examples/order-service/order-service.ts';
import { placeOrder } from '../../examples/order-service/place-order.ts';
import { needs } from '../support/needs.ts';
import { freshDatabase } from './fresh-database.ts';
import { orderIn, startShop } from './shop.ts';

const test = needs('postgres');

describe('an order', () => {
  test('is stored with its message, or not at all [S1.4]', async ({ postgres: server }) => {
    const databaseUrl = await freshDatabase(server);
    const service = await startOrderService({ databaseUrl });
    onTestFinished(() => service.stop());
    const pool = new Pool({ connectionString: databaseUrl });
    pool.on('error', () => undefined);
    onTestFinished(() => pool.end());
    const hf = holdfast({ service: 'orders', store: postgres({ pool }) });
    const order = { item: 'Tea', totalCents: 100, email: 'ada@example.org' };
    // The order is written first; then its message is refused.
    await expect(placeOrder(pool, hf, { ...order, currency: 'EURO' })).rejects.toMatchObject({
      code: 'PAYLOAD_INVALID',
    });
    const count = `select (select count(*)::int from shop.placed_order) as orders,
      (select count(*)::int from holdfast.outbox) as messages`;
    expect((await pool.query(count)).rows).toEqual([{ orders: 0, messages: 0 }]);
    await placeOrder(pool, hf, { ...order, currency: 'EUR' });
    expect((await pool.query(count)).rows).toEqual([{ orders: 1, messages: 1 }]);
  });

  test('is counted, charged and mailed once, the mail after visible retries [S0.11] [S4.2] [X.3]', async ({
    postgres: server,
  }) => {
    const shop = await startShop(server);
    await shop.place();
    await shop.place({ item: 'Tea' });
    await shop.place({ currency: 'USD' });
    const { totals } = await shop.untilDone(3);
    expect(totals).toMatchObject({ twice: 0, deadLetters: 0, repeatedMails: 0 });
    // The totals and the orders of one answer are of two moments.
    const attempts = async (): Promise<unknown> =>
      (await shop.state()).orders.map(({ number, handlers }) => [number, handlers.map(({ attempt }) => attempt)]);
    await expect.poll(attempts).toEqual([
      [3, [1, 1, 1]],
      [2, [1, 1, 3]],
      [1, [1, 1, 2]],
    ]);
  });

  test('shows when its next attempt is due, and the error of the last [X.6]', async ({ postgres: server }) => {
    const shop = await startShop(server, 1);
    await shop.place();
    const receipt = await shop.until(1, 'email-receipt', 'waiting');
    expect(receipt).toMatchObject({ attempt: 1, maxAttempts: 5, error: 'the mail provider is overloaded' });
    expect(receipt.dueInMs).toBeGreaterThan(0);
    expect(receipt.dueInMs).toBeLessThanOrEqual(4_000);
  });

  test('can be looked at as a message, with why and forecast [X.6]', async ({ postgres: server }) => {
    const shop = await startShop(server, 1);
    const { messageId } = await shop.place();
    await shop.until(1, 'email-receipt', 'waiting');
    const { status, body } = await shop.call('GET', `/messages/${messageId}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      message: {
        id: messageId,
        type: 'order.placed',
        source: 'orders',
        aggregateType: 'order',
        payload: { number: 1 },
      },
      why: { kind: 'why', deliveries: expect.arrayContaining([expect.objectContaining({ handler: 'email-receipt' })]) },
      forecast: { kind: 'forecast' },
    });
  });
});

describe('a poison order', () => {
  test('ends as a dead letter with its error and why, and a replay succeeds once the handler is mended [S4.3] [S4.4]', async ({
    postgres: server,
  }) => {
    const shop = await startShop(server);
    await shop.place({ currency: 'XTS' });
    const dead = await shop.until(1, 'charge-card', 'failed');
    expect(dead).toMatchObject({ attempt: 1, error: 'there is no exchange rate for XTS' });
    expect(dead.why).toContain('Mend the cause and replay it, or discard it.');
    // The others were not held up by it.
    await shop.until(1, 'email-receipt', 'delivered');
    expect((await shop.state()).totals).toMatchObject({ deadLetters: 1, charged: 0, counted: 1, receipts: 1 });

    const replay = `/dead-letters/${dead.deadLetterId}/replay`;
    expect((await shop.call('POST', replay, { reason: 'hope' })).body).toEqual({ kind: 'replayed', count: 1 });
    await expect
      .poll(async () => orderIn(await shop.state(), 1)?.handlers.find((one) => one.name === 'charge-card'))
      .toMatchObject({ status: 'failed', replays: 1 });

    expect((await shop.call('PUT', '/rates/XTS', { euro: 0.5 })).status).toBe(200);
    expect((await shop.call('POST', replay, { reason: 'mended' })).status).toBe(200);
    const { totals } = await shop.untilDone(1);
    expect(totals).toMatchObject({ deadLetters: 0, twice: 0 });
    const again = await shop.call('POST', replay, { reason: 'once more' });
    expect(again).toEqual({ status: 409, body: { error: { message: 'nothing was changed: not-failed' } } });
  });

  test('can be given up with a reason, which is kept [S4.1]', async ({ postgres: server }) => {
    const shop = await startShop(server);
    const { messageId } = await shop.place({ currency: 'XTS' });
    const dead = await shop.until(1, 'charge-card', 'failed');
    const discard = `/dead-letters/${dead.deadLetterId}/discard`;
    expect(await shop.call('POST', discard, {})).toMatchObject({ status: 400 });
    expect((await shop.call('POST', discard, { reason: 'a test order' })).body).toEqual({
      kind: 'discarded',
      count: 1,
    });
    await shop.until(1, 'charge-card', 'discarded');
    expect((await shop.call('GET', `/messages/${messageId}`)).body).toMatchObject({
      message: { audit: [{ verb: 'discard', actor: 'order page', reason: 'a test order' }] },
    });
  });
});

describe('the HTTP side', () => {
  test('ends although a browser has connected ahead and asks for nothing', async ({ postgres: server }) => {
    const service = await startOrderService({ databaseUrl: await freshDatabase(server) });
    const { port } = await service.listen(0);
    const silent = connect(port, '127.0.0.1');
    onTestFinished(() => void silent.destroy());
    const ended = new Promise((resolve) => silent.once('close', resolve));
    await new Promise((resolve) => silent.once('connect', resolve));
    await service.stop();
    await ended;
  });

  test('tells what is wrong with a request, and stores nothing then', async ({ postgres: server }) => {
    const shop = await startShop(server);
    const refused: [string, string, unknown, number, RegExp][] = [
      ['POST', '/orders', { item: '', total: -1, email: 'x' }, 400, /item: .* · total: .* · email: /],
      ['POST', '/orders', { item: 'Tea', total: 0.001, email: 'a@example.org' }, 400, /two decimals/],
      ['POST', '/dead-letters/nonsense/replay', { reason: 'x' }, 400, /not the id of a dead letter/],
      ['POST', '/dead-letters/01a1df03-5ff4-7231-917d-08ef45f82b4d:1/replay', { reason: 'x' }, 404, /no dead letter/],
      ['GET', '/messages/01a1df03-5ff4-7231-917d-08ef45f82b4d', undefined, 404, /no message/],
      ['GET', '/messages/%', undefined, 400, /./],
      ['DELETE', '/orders', undefined, 405, /POST and GET only/],
      ['GET', '/nowhere', undefined, 404, /nothing at GET/],
      ['GET', '/..%2fmain.ts', undefined, 404, /nothing at GET/],
    ];
    for (const [method, path, body, status, problem] of refused) {
      const answer = await shop.call(method, path, body);
      expect({ path, ...answer }).toEqual({
        path,
        status,
        body: { error: { message: expect.stringMatching(problem) } },
      });
    }
    expect((await shop.state()).totals.orders).toBe(0);
  });

  test('takes JSON only, so that a page of another site cannot place an order', async ({ postgres: server }) => {
    const shop = await startShop(server);
    const response = await fetch(`${shop.url}/orders`, { method: 'POST', body: '{"item":"Tea"}' });
    expect(response.status).toBe(415);
  });

  test('says that it is well, and counts for Prometheus by the names of the seed [S1.10]', async ({
    postgres: server,
  }) => {
    const shop = await startShop(server);
    expect(await shop.call('GET', '/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
    await shop.place({ currency: 'XTS' });
    await shop.until(1, 'charge-card', 'failed');
    await shop.until(1, 'dashboard', 'delivered');
    const response = await fetch(`${shop.url}/metrics`);
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const text = await response.text();
    expect(text).toContain('dlq_messages_total{handler="charge-card",type="order.placed"} 1');
    expect(text).toContain('consumer_processed_total{handler="dashboard",type="order.placed",outcome="done"} 1');
  });
});
