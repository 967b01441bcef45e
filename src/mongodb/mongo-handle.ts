import type { HandlerContext } from '../relay/handler.ts';

/** What is known about a message that is handled. */
export type MongoHandlerContext = Pick<
  HandlerContext<unknown>,
  | 'id'
  | 'type'
  | 'key'
  | 'attempt'
  | 'maxAttempts'
  | 'replays'
  | 'signal'
  | 'source'
  | 'headers'
  | 'correlationId'
  | 'causationId'
  | 'traceparent'
  | 'createdAt'
> & {
  /** Where it was found first: `kafka:topic@partition@offset`, `amqp:exchange@routingKey@id`. */
  readonly sourceId: string;
};

/**
 * Handles a message. What it writes with `session` is kept together with the fact that the message was processed, or not at all.
 * It may be run again when the server asks for it.
 */
export type MongoHandle<Payload, Session> = (payload: Payload, session: Session, ctx: MongoHandlerContext) => unknown;
