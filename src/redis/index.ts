export { checkRedis, type RedisProblem } from './check-redis.ts';
export type { RedisClient } from './redis-client.ts';
export { redisIdempotency, type RedisOptions } from './redis-idempotency.ts';
export { redisKeyLock, type RedisKeyLockOptions } from './redis-key-lock.ts';
export { redisStreams, type RedisStreamsOptions } from './redis-streams.ts';
export type { RedisStreamClient } from './redis-commands.ts';
export { redisReplyCache } from './redis-reply-cache.ts';
