import { Redis } from '@upstash/redis';
import { describe, expect } from 'vitest';
import { redisIdempotency } from '../../src/redis/index.ts';
import { serviceCallClassifier } from '../../src/retry/classifier.ts';
import { needs } from '../support/needs.ts';
import { digest, FINISH, newClaim, rivalOf } from './new-claim.ts';
import { privateRedis } from './private-redis.ts';
import { openUpstash } from './redis-clients.ts';

const test = needs('redis');
const onOwnServer = needs('redisServer');

describe('@upstash/redis', () => {
  test.for([
    ['without pipelines of its own', { enableAutoPipelining: false }],
    ['that gives texts as they are', { automaticDeserialization: false }],
    ['that asks for plain texts', { responseEncoding: false as const }],
  ] as const)('%s claims, finishes and replays [S3.2] [S1.3]', async ([, options], { redis: { url, namespace } }) => {
    const { client } = await openUpstash(url, options);
    const store = redisIdempotency({ client, prefix: `${namespace}:` });
    for (const person of [null, digest()]) {
      const claim = newClaim({ person });
      expect(await store.claim(claim)).toEqual({ kind: 'claimed', run: 1 });
      expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'running' });
      expect(await store.end(claim, FINISH)).toBe('ended');
      const reply = FINISH.kind === 'finish' && FINISH.reply;
      expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'finished', reply });
    }
  });

  onOwnServer.for([true, false])(
    'hands on a refusal of the server without what was sent, pipelines: %s [S1.3]',
    async (enableAutoPipelining, { redisServer }) => {
      const { url } = await privateRedis(redisServer.url);
      const { client, send } = await openUpstash(url, { enableAutoPipelining });
      const store = redisIdempotency({ client });
      const claim = newClaim();
      await store.claim(claim);
      await send('CONFIG', 'SET', 'maxmemory', '1');
      const error: unknown = await store.end(claim, FINISH).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Error);
      expect((error as Error).message).toMatch(/^OOM /);
      expect((error as Error).message).not.toContain(claim.id);
      expect(serviceCallClassifier(error)).toMatchObject({ verdict: 'retry', code: 'OOM' });
    },
  );

  test('whose token is wrong is refused [S1.3]', async ({ redis: { url } }) => {
    const { client } = await openUpstash(url, { token: 'another' });
    expect(client).toBeInstanceOf(Redis);
    const refused = expect.objectContaining({ message: 'WRONGPASS invalid or missing auth token' });
    await expect(redisIdempotency({ client }).claim(newClaim())).rejects.toEqual(refused);
  });
});
