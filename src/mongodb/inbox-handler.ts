import type { ClientSession } from 'mongodb';
import { HoldfastError } from '../kernel/error.ts';
import type { HandledEvent } from '../outbox/event.ts';
import type { HandlerContext, HandlerDefinition } from '../relay/handler.ts';
import { readPayload } from '../relay/read-payload.ts';
import type { HandledMessage } from './handle-round.ts';
import type { MongoHandle, MongoHandlerContext } from './mongo-handle.ts';

/** A kind of message and who handles it. */
export interface InboxTake {
  readonly event: HandledEvent<unknown>;
  readonly handle: MongoHandle<unknown, ClientSession>;
}

/** Calls the handler of a message's type; of one that could not be read, that of its transport, which tries once more. */
export function handleBy(
  takes: ReadonlyMap<string, InboxTake>,
  kept: HandlerDefinition<unknown>,
  maxAttempts: number,
): (message: HandledMessage, session: ClientSession) => Promise<void> {
  return async (message, session) => {
    const { eventType: type, payload } = message.row;
    const take = takes.get(type);
    if (take) {
      await take.handle(
        await readPayload(take.event, message.delivery, payload),
        session,
        contextOf(message, maxAttempts),
      );
      return;
    }
    const again = kept.kind === 'handle' ? kept.takes.get(type) : undefined;
    if (!again) throw new HoldfastError('HANDLER_TYPE_UNKNOWN', { handler: 'inbox', type });
    // It looks at nothing else.
    await again.run(JSON.parse(payload), { type, replays: message.row.replays } as HandlerContext<unknown>);
  };
}

function contextOf({ row, delivery, signal }: HandledMessage, maxAttempts: number): MongoHandlerContext {
  const { id, type, key, source, correlationId, causationId, traceparent, createdAtMs } = delivery;
  return {
    id,
    type,
    key,
    source,
    correlationId,
    causationId,
    traceparent,
    signal,
    sourceId: row.sourceId,
    attempt: row.attempts + 1,
    maxAttempts,
    replays: row.replays,
    headers: delivery.headers ?? {},
    createdAt: new Date(createdAtMs),
  };
}
