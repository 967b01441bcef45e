import { Webhook } from 'standardwebhooks';
import { describe, expect } from 'vitest';

import { signStandard } from '../../src/delivery/sign-standard.ts';
import type { WebhookEndpointInput, WebhookEndpointRecord } from '../../src/delivery/webhook-endpoints.ts';
import { postgresWebhooks } from '../../src/postgres/index.ts';
import { standardWebhooks } from '../../src/webhooks/index.ts';
import { type DeliveryDatabase, openDeliveries, SECRET } from '../delivery-store/delivery-database.ts';
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

describe('webhook endpoints', () => {
  test('An event goes to all who want its type, in one commit, and once for its id [X.8]', async ({ postgres }) => {
    const deliveries = await openDeliveries(postgres);
    const { endpoints, database } = deliveries;
    const all = await make(deliveries);
    const orders = await make(deliveries, { eventTypes: ['order.*'], ratePerSecond: 5, retrySeconds: [1, 2] });
    await make(deliveries, { eventTypes: ['invoice.paid', 'order'] });
    const event = {
      type: 'order.paid',
      data: { id: 7 },
      occurredAt: new Date('2026-05-01T00:00:00Z'),
      eventId: 'evt.7',
    };
    const sent = await endpoints.send(event);
    expect(sent).toMatchObject({ eventId: 'evt.7', isDuplicate: false });
    expect(sent.messageIds).toHaveLength(2);
    const again = await endpoints.send(event);
    expect(again).toMatchObject({ isDuplicate: true });
    expect([...again.messageIds].sort()).toEqual([...sent.messageIds].sort());
    const rows = await database.pool.query<{ payload: Record<string, unknown>; key: string }>(
      `select payload, key from "${database.schema}".delivery order by seq`,
    );
    expect(rows.rows.map(({ key }) => key)).toEqual([all.id, orders.id].map((id) => `flow:endpoint:${id}`));
    expect(rows.rows[1]?.payload).toEqual({
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
  });
});
