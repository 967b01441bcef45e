import { describe, expect } from 'vitest';
import { checkRedis } from '../../src/redis/index.ts';
import { needs } from '../support/needs.ts';
import { privateRedis } from './private-redis.ts';
import { openIoredis, REDIS_CLIENTS } from './redis-clients.ts';

const test = needs('redisServer');

describe.each(REDIS_CLIENTS)('a look at a server of Redis through %s', (_, open) => {
  test('finds nothing wrong with one that evicts nothing and writes a log [S1.3]', async ({ redisServer }) => {
    const { url } = await privateRedis(redisServer.url);
    expect(await checkRedis({ client: (await open(url)).client })).toEqual([]);
  });

  test('finds one that evicts, with or without a limit so far [S1.3]', async ({ redisServer }) => {
    const { url } = await privateRedis(redisServer.url, '--maxmemory-policy', 'volatile-lru');
    const { client, send } = await open(url);
    expect(await checkRedis({ client })).toEqual([
      {
        kind: 'evicts',
        found: 'maxmemory-policy is volatile-lru, with no limit of memory yet',
        next: 'set maxmemory-policy to noeviction, or keep claims in PostgreSQL and only replies here',
      },
    ]);
    await send('CONFIG', 'SET', 'maxmemory', '64mb');
    const [problem] = await checkRedis({ client });
    expect(problem?.found).toBe('maxmemory-policy is volatile-lru, with 67108864 bytes of memory');
    await send('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    expect(await checkRedis({ client })).toEqual([]);
  });

  test('finds a replica, and one that writes no log [S1.3]', async ({ redisServer }) => {
    const { url, port } = await privateRedis(redisServer.url);
    const { client, send } = await open(url);
    await send('CONFIG', 'SET', 'appendonly', 'no');
    await send('REPLICAOF', '127.0.0.1', String(port + 1));
    expect((await checkRedis({ client })).map(({ kind }) => kind)).toEqual(['replica', 'forgets']);
  });
});

test('a user who may not ask is told so [S1.3]', async ({ redisServer }) => {
  const { url } = await privateRedis(redisServer.url);
  const { send } = await openIoredis(url);
  await send('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '+@all', '-info');
  const { client } = await openIoredis(url.replace('//', '//app:secret@'), { enableReadyCheck: false });
  const problems = await checkRedis({ client });
  expect(problems.map(({ kind }) => kind)).toEqual(['untold']);
  expect(problems[0]?.found).toContain('the server does not tell its maxmemory-policy: ');
});
