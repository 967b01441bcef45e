import type { DeadLetter, Delivery } from '../../src/relay/relay-store.ts';
import type { OutboundMessage } from '../../src/transport/broker.ts';
import { toDeadWire, toWire } from '../../src/transport/cloud-event.ts';

const PAYLOAD = '{"orderId":"ord_1","note":"Gänsefüßchen \\" und 漢字"}';

/** A delivery with no more than every one has. */
const BARE = {
  id: '01a1e6b2-7d0e-7c52-9b1f-6d6f1c0b7e11',
  type: 'order.placed',
  source: 'shop',
  idempotencyKey: '01a1e6b2-7d0e-7c52-9b1f-6d6f1c0b7e11',
  correlationId: '01a1e6b2-7d0e-7c52-9b1f-6d6f1c0b7e11',
  createdAtMs: Date.UTC(2026, 10, 16, 12),
  payload: PAYLOAD,
  attempts: 5,
  cycle: 0,
  rerun: 0,
} as unknown as Delivery;

/** One with everything. */
const FULL: Delivery = {
  ...BARE,
  key: 'ord_1 ä',
  idempotencyKey: 'order-1',
  correlationId: 'corr-1',
  causationId: '01a1e6b2-0000-7c52-9b1f-6d6f1c0b7e11',
  target: 'run-7',
  generation: 7,
  aggregateType: 'order',
  aggregateId: 'ord_1',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=1',
  headers: { tenant: '7', 'holdfast-version': '2', 'holdfast-person': 'usr_1' },
};

const error = { name: 'CardError', code: 'DECLINED', message: 'the card was declined', kind: 'unknown', isFinal: true };

/** What is sent, by name. */
export const WIRE_MESSAGES: Readonly<Record<string, OutboundMessage>> = {
  bare: toWire({ delivery: BARE, payload: PAYLOAD, sequence: '0'.repeat(31) + '1' }),
  full: toWire({ delivery: FULL, payload: PAYLOAD, sequence: '0'.repeat(31) + '2' }),
  dead: toDeadWire(
    { delivery: FULL, error, failedAtMs: Date.UTC(2026, 10, 16, 13) } as DeadLetter,
    'billing',
  ) as OutboundMessage,
};
