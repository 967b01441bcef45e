import { describe, expect } from 'vitest';

import type { WebhookEndpointInput, WebhookEndpointRecord } from '../../src/delivery/webhook-endpoints.ts';
import { postgresWebhooks } from '../../src/postgres/index.ts';
import { attempt, type DeliveryDatabase, openDeliveries } from '../delivery-store/delivery-database.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');
const BY = { actor: 'ada' };

async function make(
  { endpoints }: DeliveryDatabase,
  input: Partial<WebhookEndpointInput> = {},
): Promise<WebhookEndpointRecord> {
  const made = await endpoints.create({ url: 'https://shop.example/hooks', ...input }, BY);
  if (made.kind !== 'done') throw new Error(made.kind === 'refused' ? made.message : made.kind);
  return made.endpoint;
}

/** The first column of all rows. */
async function column(
  database: DeliveryDatabase['database'],
  text: string,
  params: string[] = [],
): Promise<readonly unknown[]> {
  const rows = await database.sql(text, params);
  return rows.map((row) => Object.values(row)[0]);
}

/** The states of all messages: 0 ready, 1 waiting, 2 failed. */
async function states({ database }: DeliveryDatabase): Promise<readonly unknown[]> {
  return column(database, `select state::int from $S.delivery order by seq`);
}

describe('webhook endpoints', () => {
  test('An event goes to all who want its type, in one commit, and once for its id [X.8]', async ({ postgres }) => {
    const deliveries = await openDeliveries(postgres);
    const { endpoints, database } = deliveries;
    const all = await make(deliveries);
    const orders = await make(deliveries, { eventTypes: ['order.*'], ratePerSecond: 5, retrySeconds: [1, 2] });
    await make(deliveries, { eventTypes: ['invoice.paid', 'order'] });
    const occurredAt = new Date('2026-05-01T00:00:00Z');
    const event = { type: 'order.paid', data: { id: 7 }, occurredAt, eventId: 'evt.7' };
    const sent = await endpoints.send(event);
    expect(sent).toMatchObject({ eventId: 'evt.7', isDuplicate: false });
    expect(sent.messageIds).toHaveLength(2);
    const again = await endpoints.send(event);
    expect(again).toMatchObject({ isDuplicate: true });
    expect(again.messageIds.toSorted()).toEqual(sent.messageIds.toSorted());
    expect(await column(database, `select key from $S.delivery order by seq`)).toEqual(
      [all.id, orders.id].map((id) => `flow:endpoint:${id}`),
    );
    const [, payload] = await column(database, `select payload from $S.delivery order by seq`);
    expect(payload).toEqual({
      url: 'https://shop.example/hooks',
      method: 'POST',
      headers: { 'Content-Type': ['application/json'] },
      body: '{"type":"order.paid","timestamp":"2026-05-01T00:00:00.000Z","data":{"id":7}}',
      retries: 2,
      retrySeconds: [1, 2],
      signedBy: 'endpoint',
      endpointId: orders.id,
      eventType: 'order.paid',
      flowKey: `endpoint:${orders.id}`,
    });
    expect(await deliveries.flowControls.get(`endpoint:${orders.id}`)).toMatchObject({ rate: 5, isRatePinned: true });
    await expect(endpoints.send({ type: 'order..paid', data: 1 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  test('An event leaves with the transaction it was sent in, and two with one id at once are one [X.8]', async ({
    postgres,
  }) => {
    const deliveries = await openDeliveries(postgres);
    const { database } = deliveries;
    await make(deliveries);
    const webhooks = postgresWebhooks({ schema: database.schema });
    const clients = await Promise.all([database.pool.connect(), database.pool.connect()]);
    const [one, two] = clients;
    try {
      const event = { type: 'order.paid', data: { id: 7 }, eventId: 'evt-7' };
      await one.query('begin');
      await webhooks.send(one, event);
      await one.query('rollback');
      expect(await states(deliveries)).toEqual([]);
      await Promise.all(clients.map((client) => client.query('begin')));
      const first = await webhooks.send(one, event);
      const second = webhooks.send(two, event);
      await one.query('commit');
      expect(await second).toEqual({ ...first, isDuplicate: true });
      await two.query('commit');
      expect(await states(deliveries)).toEqual([0]);
      await expect(webhooks.send(one, event)).rejects.toMatchObject({ code: 'TRANSACTION_NOT_OPEN' });
    } finally {
      for (const client of clients) client.release();
    }
  });

  test('A secret that is rotated signs beside the new one until its grace is over, and none is readable at rest [X.8]', async ({
    postgres,
  }) => {
    const deliveries = await openDeliveries(postgres);
    const { endpoints, database, sender } = deliveries;
    const { id } = await make(deliveries);
    const [first] = (await endpoints.secrets(id)) ?? [];
    const turned = await endpoints.rotateSecret(id, BY);
    if (turned.kind !== 'rotated') throw new Error(turned.kind);
    expect(await endpoints.secrets(id)).toEqual([turned.secret, first]);
    expect(await sender.endpoint(id)).toMatchObject({ secrets: [turned.secret, first] });
    const hoursLeft = ((turned.oldUntil?.getTime() ?? 0) - Date.now()) / 3_600_000;
    expect(hoursLeft).toBeGreaterThan(23);
    expect(String(await column(database, `select secrets::text from $S.http_endpoint`))).not.toContain('whsec_');
    // The grace of the first is over.
    await database.sql(
      `update $S.http_endpoint set secrets = jsonb_set(secrets, '{1,until}', to_jsonb(now() - interval '1 second'))`,
    );
    expect(await endpoints.secrets(id)).toEqual([turned.secret]);
    const last = await endpoints.rotateSecret(id, BY, { graceHours: 0 });
    expect(await endpoints.secrets(id)).toEqual([last.kind === 'rotated' && last.secret]);
    expect(await endpoints.rotateSecret(id, BY, { graceHours: 169 })).toMatchObject({ kind: 'refused' });
    expect(await endpoints.rotateSecret('ep_none', BY)).toEqual({ kind: 'not-found' });
    const { endpoints: others } = await openDeliveries(postgres, {
      schema: database.schema,
      secret: 'another secret of more than 32 characters',
    });
    await expect(others.secrets(id)).rejects.toMatchObject({ code: 'SECRET_WRONG' });
  });

  test('An endpoint is disabled by 410 at once and by nothing but failures for days; what waits is kept, and goes on [X.8]', async ({
    postgres,
  }) => {
    const deliveries = await openDeliveries(postgres);
    const { endpoints, sender, database, flowControls } = deliveries;
    const { id } = await make(deliveries);
    const isPaused = async (): Promise<boolean | undefined> => (await flowControls.get(`endpoint:${id}`))?.isPaused;
    await endpoints.send({ type: 'order.paid', data: 1 });
    await sender.noteEndpoint(id, 'failed');
    expect(await endpoints.get(id)).toMatchObject({ state: 'enabled', failingSince: expect.any(Date) });
    await sender.noteEndpoint(id, 'well');
    expect(await endpoints.get(id)).toMatchObject({ failingSince: undefined });
    await sender.noteEndpoint(id, 'failed');
    await database.sql(`update $S.http_endpoint set failing_since = now() - interval '119 hours'`);
    await sender.noteEndpoint(id, 'failed');
    expect(await endpoints.get(id)).toMatchObject({ state: 'enabled' });
    await database.sql(`update $S.http_endpoint set failing_since = now() - interval '121 hours'`);
    await sender.noteEndpoint(id, 'failed');
    expect(await endpoints.get(id)).toMatchObject({ state: 'disabled', disabledBecause: 'failing' });
    expect([await isPaused(), await sender.endpoint(id)]).toEqual([true, 'disabled']);
    expect((await endpoints.send({ type: 'order.paid', data: 2 })).messageIds).toEqual([]);
    expect(await states(deliveries)).toEqual([0]);
    expect(await endpoints.enable(id, BY)).toMatchObject({ endpoint: { state: 'enabled', failingSince: undefined } });
    expect(await isPaused()).toBe(false);
    await sender.noteEndpoint(id, 'gone');
    expect(await endpoints.get(id)).toMatchObject({ state: 'disabled', disabledBecause: 'gone' });
    await endpoints.disable(id, BY);
    expect(await endpoints.get(id)).toMatchObject({ disabledBecause: 'gone' });
    const verbs = (await database.operator.audit()).items.map(({ verb, actor }) => `${actor} ${verb}`);
    expect(verbs).toEqual([
      'delivery disable-endpoint',
      'ada enable-endpoint',
      'delivery disable-endpoint',
      'ada create-endpoint',
    ]);
  });

  test('Messages of an endpoint are sent again one by one or all that failed since a time, and cancelled with it [X.8]', async ({
    postgres,
  }) => {
    const deliveries = await openDeliveries(postgres);
    const { endpoints, database, sender, messages } = deliveries;
    const { id } = await make(deliveries);
    const other = await make(deliveries, { eventTypes: ['never'] });
    const sent = await Promise.all(
      [1, 2, 3].map(async (data) => (await endpoints.send({ type: 'a', data })).messageIds[0] ?? ''),
    );
    const [one = '', two = '', three = ''] = sent;
    // The first was delivered, the second failed an hour ago, the third now.
    await sender.report([attempt(one, { state: 'DELIVERED' })]);
    await database.sql(
      `with d as (delete from $S.delivery where id = $1 returning *)
        insert into $S.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, type, key, payload, source, created_at)
        select 0, id, handler, 0, version, 1, cycle, rerun, type, key, payload, source, created_at from d`,
      [one],
    );
    await database.sql(`update $S.delivery set state = 2, failed_at = now() - interval '1 hour' where id = $1`, [two]);
    await database.sql(`update $S.delivery set state = 2, failed_at = now() where id = $1`, [three]);
    expect(await endpoints.resend(id, one, BY)).toBe(true);
    expect(await column(database, `select cycle from $S.delivery where id = $1`, [one])).toEqual([1]);
    expect(await endpoints.resend(id, one, BY)).toBe(true);
    expect([await endpoints.resend(other.id, one, BY), await endpoints.resend(id, 'no id', BY)]).toEqual([
      false,
      false,
    ]);
    expect(await endpoints.recover(id, new Date(Date.now() - 600_000), BY)).toBe(1);
    expect(await endpoints.recover('ep_none', new Date(), BY)).toBeUndefined();
    expect(await endpoints.resend(id, two, BY)).toBe(true);
    expect(await column(database, `select count(*)::int from $S.delivery where state = 2`)).toEqual([0]);
    expect(await endpoints.delete(id, BY)).toBe(true);
    expect(await endpoints.delete(id, BY)).toBe(false);
    expect(await states(deliveries)).toEqual([]);
    expect((await messages.get(three))?.state).toBe('cancelled');
    expect(await sender.endpoint(id)).toBeUndefined();
    expect(await endpoints.list()).toMatchObject([{ id: other.id }]);
  });
});
