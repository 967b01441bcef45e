export type { DeadMessage, DeadMessages } from './dead-messages.ts';
export type { MongoDatabase } from './mongo-database.ts';
export type { MongoHandle, MongoHandlerContext } from './mongo-handle.ts';
export { mongoIdempotency, type MongoIdempotencyOptions } from './mongo-idempotency.ts';
export { mongoInbox, type MongoInbox, type MongoInboxOptions } from './mongo-inbox.ts';
export { mongoOutbox, type MongoOutbox, type MongoOutboxOptions } from './mongo-outbox.ts';
export { mongoOperator, type MongoOperatorOptions } from './operator/mongo-operator.ts';
export type { MongoStartOptions, Running } from './start-options.ts';
