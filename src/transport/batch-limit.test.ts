import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { OutboundItem } from '../relay/handler.ts';
import { createClassifier } from '../retry/classifier.ts';
import { localBroker } from '../testing/local-broker.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import { BATCH_BYTES, BatchLimit, batchOf } from './batch-limit.ts';
import type { OutboundMessage } from './broker.ts';
import { Consumer } from './consumer.ts';
import { publisher } from './publisher.ts';

const MEGABYTE = 1_000_000;
const TYPE = 'order.placed';

describe('batches by bytes', () => {
  test('a batch is halved each time it is late, down to one message, and doubles while it is quick [S1.5]', async () => {
    const time = virtualTime();
    const limit = new BatchLimit(time);
    const late = (): Promise<never> => Promise.reject(new HoldfastError('BROKER_TIMEOUT', { timeoutMs: 10_000 }));
    await limit.carry(late, 100_000).catch(() => undefined);
    expect(limit.bytes).toBe(50_000);
    await limit.carry(() => Promise.reject(new Error('refused'))).catch(() => undefined);
    await time.settle(limit.carry(() => createSleep(time)(1_000)));
    expect(limit.bytes).toBe(50_000);
    for (let tries = 0; tries < 20; tries++) await limit.carry(late).catch(() => undefined);
    expect(limit.bytes).toBe(1);
    expect(batchOf([7, 8], limit.bytes, (size) => size)).toEqual({ batch: [7], size: 7 });
    for (let tries = 0; tries < 30; tries++) await limit.carry(async () => undefined);
    expect(limit.bytes).toBe(BATCH_BYTES);
  });

  test('a backlog of large messages is stored in parts; a part the database is too slow for is halved, and nothing changes its place [S0.8] [S1.5]', async () => {
    const time = virtualTime();
    const broker = localBroker({ maxBytes: 2 * MEGABYTE });
    await broker.publish(Array.from({ length: 40 }, (_, n) => large(n)));
    const parts: number[] = [];
    const stored: string[] = [];
    const told: string[] = [];
    const all = Promise.withResolvers<void>();
    // What it can take in time is less than what is offered at first.
    const fits = 1.5 * MEGABYTE;
    const consumer = new Consumer({
      broker,
      classifier: createClassifier({ unknown: 'retry' }),
      isDead: false,
      service: 'mail',
      effects: time,
      tell: (event) => void told.push(event.kind),
      types: [TYPE],
      taken: async () => [],
      takeBack: async () => [],
      receive: async (messages) => {
        const bytes = messages.reduce((sum, { payload }) => sum + payload.length, 0);
        parts.push(bytes);
        await createSleep(time)(2_000);
        if (bytes > fits) throw new HoldfastError('DATABASE_TIMEOUT', { timeoutMs: 10_000 });
        stored.push(...messages.map(({ payload }) => payload.slice(0, 9)));
        if (stored.length === 40) all.resolve();
        return messages.map(({ id }) => ({ kind: 'stored', id }));
      },
    });
    await time.settle(all.promise);
    await time.settle(consumer.stop());
    expect(stored).toEqual(Array.from({ length: 40 }, (_, n) => textOf(n).slice(0, 9)));
    expect(Math.max(...parts)).toBeLessThanOrEqual(BATCH_BYTES);
    expect(parts.filter((bytes) => bytes > fits).length).toBe(2);
    expect(told.filter((kind) => kind === 'store-failed')).toHaveLength(2);
  });

  test('large messages are published in parts; a part the broker does not confirm in time goes again in halves, and keys keep their order [S0.8] [S1.5]', async () => {
    const time = virtualTime();
    const broker = localBroker({ maxBytes: 2 * MEGABYTE });
    const parts: number[] = [];
    const slow = {
      ...broker,
      publish: async (messages: readonly OutboundMessage[]) => {
        const bytes = messages.reduce((sum, { body }) => sum + body.length, 0);
        parts.push(bytes);
        // More than that is late.
        if (bytes > 1.5 * MEGABYTE) await createSleep(time)(60_000);
        return broker.publish(messages);
      },
    };
    const items = Array.from({ length: 20 }, (_, n) => item(n));
    const outcomes = await time.settle(publisher(slow, time, () => undefined)(items));
    expect(outcomes.map(({ kind }) => kind)).toEqual(items.map(() => 'published'));
    expect(Math.max(...parts)).toBeLessThanOrEqual(BATCH_BYTES);
    // Tried again until it fits; from then on nothing is late but what doubles again.
    expect(parts.filter((bytes) => bytes <= 1.5 * MEGABYTE)).toHaveLength(20);
  });
});

function textOf(n: number): string {
  return JSON.stringify({ n: String(n).padStart(3, '0'), text: 'x'.repeat(MEGABYTE) });
}

function large(n: number): OutboundMessage {
  const attributes = { specversion: '1.0', id: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`, type: TYPE };
  const about = { source: 'test', datacontenttype: 'application/json' };
  return {
    type: TYPE,
    key: 'a',
    isDead: false,
    attributes: { ...attributes, ...about },
    headers: {},
    body: Buffer.from(textOf(n)),
  };
}

function item(n: number): OutboundItem {
  const { attributes } = large(n);
  const about = { source: 'test', createdAtMs: 0, cycle: 0, rerun: 0 };
  const delivery = { id: attributes['id'], type: TYPE, key: 'a', ...about } as unknown as OutboundItem['delivery'];
  return { delivery, payload: textOf(n), sequence: String(n).padStart(32, '0'), isGivenUp: false };
}
