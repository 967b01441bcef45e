import type { NewMessage } from '../outbox/outbox-store.ts';

/** A message as a sender would make it, with nothing in its envelope but what is said. */
export function draftMessage(about: Pick<NewMessage, 'id' | 'type'> & Partial<NewMessage>): NewMessage {
  return {
    takenAs: undefined,
    key: undefined,
    payload: '{"n":1}',
    idempotencyKey: undefined,
    source: 'test',
    target: undefined,
    aggregateType: undefined,
    aggregateId: undefined,
    generation: undefined,
    correlationId: about.id,
    causationId: undefined,
    traceparent: undefined,
    tracestate: undefined,
    headers: undefined,
    deliverAt: undefined,
    strict: false,
    ...about,
  };
}
