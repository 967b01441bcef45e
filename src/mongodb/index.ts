export type { DeadMessage, DeadMessages } from './dead-letters.ts';
export { mongoIdempotency, type MongoIdempotencyOptions } from './mongo-idempotency.ts';
export type { MongoHandle, MongoHandlerContext } from './inbox-handler.ts';
export { mongoInbox, type MongoInbox, type MongoInboxOptions } from './mongo-inbox.ts';
export { mongoOutbox, type MongoOutbox, type MongoOutboxOptions } from './mongo-outbox.ts';
export type { MongoStartOptions, Running } from './running.ts';
