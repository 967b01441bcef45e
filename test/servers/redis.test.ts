import { Redis } from 'ioredis';
import { describe, expect, onTestFinished } from 'vitest';
import { needs } from '../support/needs.ts';
import { redis as service } from '../support/services/redis.ts';

describe('the Redis that was found', () => {
  const test = needs('redis');

  test('keeps a stream entry pending until it is acknowledged', async ({ redis }) => {
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    const stream = `${redis.namespace}:orders`;
    await client.xgroup('CREATE', stream, 'workers', '0', 'MKSTREAM');
    const id = await client.xadd(stream, '*', 'order', '17');
    const read = await client.xreadgroup('GROUP', 'workers', 'w1', 'COUNT', 10, 'STREAMS', stream, '>');
    expect(read).toEqual([[stream, [[id, ['order', '17']]]]]);
    expect(await client.xpending(stream, 'workers')).toEqual([1, id, id, [['w1', '1']]]);
    expect(await client.xack(stream, 'workers', id as string)).toBe(1);
    expect(await client.xpending(stream, 'workers')).toEqual([0, null, null, null]);
  });

  test('is cleaned of the keys of one namespace only', async ({ redis }) => {
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    await client.mset(`${redis.namespace}x:a`, '1', `${redis.namespace}x:b`, '2', `${redis.namespace}:c`, '3');
    await service.clean?.(redis.url, `${redis.namespace}x`);
    expect(await client.keys(`${redis.namespace}*:[abc]`)).toEqual([`${redis.namespace}:c`]);
  });
});
