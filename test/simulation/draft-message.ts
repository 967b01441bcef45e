import { uuidV7 } from '../../src/kernel/uuid-v7.ts';
import type { NewMessage } from '../../src/outbox/outbox-store.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A message as a sender would make it. The same chance gives the same id. */
export function draftMessage(
  random: SeededRandom,
  number: number,
  about: Pick<NewMessage, 'type' | 'key'> & Partial<NewMessage>,
): NewMessage {
  const bytes = Uint8Array.from({ length: 10 }, () => random.int(0, 255));
  const id = uuidV7(Date.UTC(2026, 0, 1) + number, bytes);
  return {
    id,
    payload: '{"version":0}',
    idempotencyKey: undefined,
    source: 'simulation',
    target: undefined,
    aggregateType: undefined,
    aggregateId: undefined,
    generation: undefined,
    correlationId: id,
    causationId: undefined,
    traceparent: undefined,
    tracestate: undefined,
    headers: undefined,
    deliverAt: undefined,
    strict: false,
    ...about,
  };
}
