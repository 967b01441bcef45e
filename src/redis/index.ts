export { checkRedis, type RedisProblem } from './check-redis.ts';
export type { RedisClient } from './redis-client.ts';
export { redisIdempotency, type RedisOptions } from './redis-idempotency.ts';
export { redisReplyCache } from './redis-reply-cache.ts';
