export { mongoIdempotency, type MongoIdempotencyOptions } from './mongo-idempotency.ts';
