import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fromWire, isDeadCopy } from '../../src/transport/cloud-event.ts';
import { WIRE_FORMS } from './wire-forms.ts';
import { WIRE_MESSAGES } from './wire-messages.ts';

/**
 * What releases write, as it lies at brokers for days. A new form is a file of its own, and the files before it stay: whoever reads must
 * read all of them, and whoever writes while the release before still reads must write what that one knows.
 */
const RELEASED = ['wire-1.json'] as const;
type Written = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const written = new Map<string, Written>(
  RELEASED.map((file) => [file, JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as Written]),
);
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;
const reading = { takenAs: (type: string) => `billing/${type}`, decode: undefined };

describe('messages at brokers', () => {
  test('are written as the release before reads them [X.18]', () => {
    const ours = Object.fromEntries(
      Object.entries(WIRE_FORMS).map(([transport, { write }]) => [
        transport,
        Object.fromEntries(Object.entries(WIRE_MESSAGES).map(([name, message]) => [name, write(message)])),
      ]),
    );
    expect(asJson(ours)).toEqual(written.get(RELEASED.at(-1) ?? ''));
  });

  test.each(RELEASED)('as of %s are read as what they were sent as, whatever carried them [X.18]', (file) => {
    for (const [transport, { read }] of Object.entries(WIRE_FORMS)) {
      const { bare, full, dead } = written.get(file)?.[transport] ?? {};
      expect(fromWire(read(bare as never), reading), transport).toMatchObject({
        id: '01a1e6b2-7d0e-7c52-9b1f-6d6f1c0b7e11',
        type: 'order.placed',
      });
      expect(fromWire(read(full as never), reading), transport).toMatchObject({
        key: 'ord_1 ä',
        idempotencyKey: 'order-1',
        correlationId: 'corr-1',
        target: 'run-7',
        generation: 7,
        aggregateType: 'order',
        aggregateId: 'ord_1',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        tracestate: 'vendor=1',
        headers: { tenant: '7', 'holdfast-version': '2', 'holdfast-person': 'usr_1' },
        payload: '{"orderId":"ord_1","note":"Gänsefüßchen \\" und 漢字"}',
      });
      expect([isDeadCopy(read(full as never)), isDeadCopy(read(dead as never))], transport).toEqual([false, true]);
    }
  });
});
