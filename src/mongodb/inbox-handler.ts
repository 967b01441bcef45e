import type { ClientSession } from 'mongodb';
import { HoldfastError } from '../kernel/error.ts';
import type { HandledEvent } from '../outbox/event.ts';
import { describeIssue } from '../outbox/payload.ts';
import type { HandlerContext, HandlerDefinition } from '../relay/handler.ts';
import { consumer } from '../retry/policies.ts';
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
): (message: HandledMessage, session: ClientSession) => Promise<void> {
  return async (message, session) => {
    const { type, payload } = message.row;
    const value: unknown = JSON.parse(payload);
    const take = takes.get(type);
    if (take) {
      await take.handle(await validated(take.event, value), session, contextOf(message));
      return;
    }
    const again = kept.kind === 'handle' ? kept.takes.get(type) : undefined;
    if (!again) throw new HoldfastError('HANDLER_TYPE_UNKNOWN', { handler: 'inbox', type });
    // It looks at nothing else.
    await again.run(value, { type, replays: message.row.replays } as HandlerContext<unknown>);
  };
}

async function validated(event: HandledEvent<unknown>, value: unknown): Promise<unknown> {
  if (!event.schema) return value;
  const result = await event.schema['~standard'].validate(value);
  const issue = result.issues?.[0];
  if (issue) throw new HoldfastError('PAYLOAD_UNREADABLE', { type: event.type, problem: describeIssue(issue) });
  return (result as { value: unknown }).value;
}

function contextOf({ row, delivery, signal }: HandledMessage): MongoHandlerContext {
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
    maxAttempts: consumer.maxAttempts,
    replays: row.replays,
    headers: delivery.headers ?? {},
    createdAt: new Date(createdAtMs),
  };
}
