import { bareEnvelope } from '../outbox/envelope.ts';
import type { NewMessage } from '../outbox/outbox-store.ts';

/** A message as a sender would make it, with nothing in its envelope but what is said. */
export function draftMessage(about: Pick<NewMessage, 'id' | 'type'> & Partial<NewMessage>): NewMessage {
  return {
    ...bareEnvelope('test'),
    takenAs: undefined,
    key: undefined,
    payload: '{"n":1}',
    idempotencyKey: undefined,
    correlationId: about.id,
    deliverAt: undefined,
    strict: false,
    ...about,
  };
}
