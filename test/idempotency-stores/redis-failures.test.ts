import { describe, expect } from 'vitest';
import type { IdempotencyStore } from '../../src/idempotency/idempotency-store.ts';
import { redisIdempotency } from '../../src/redis/index.ts';
import { needs } from '../support/needs.ts';
import { FINISH, newClaim, rivalOf } from './new-claim.ts';
import { type PrivateRedis, privateRedis } from './private-redis.ts';
import { openIoredis, type OpenClient, type OpenRedis, CONNECTED_CLIENTS } from './redis-clients.ts';

const test = needs('redisServer');
const KILO = 'x'.repeat(1024);

interface Scene extends OpenClient {
  readonly server: PrivateRedis;
  readonly store: IdempotencyStore;
}

async function openScene(program: string, open: OpenRedis, ...settings: string[]): Promise<Scene> {
  const server = await privateRedis(program, ...settings);
  const opened = await open(server.url);
  const store = redisIdempotency({ client: opened.client });
  await store.find('nothing');
  return { ...opened, server, store };
}

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'answered',
    (error: { code?: unknown }) => error.code,
  );
const wordOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'answered',
    (error: Error) => error.message.split(' ')[0],
  );

describe.each(CONNECTED_CLIENTS)('a server of Redis through %s', (_, open) => {
  test('that is gone refuses every step at once, and none is sent when it is back [S1.3]', async ({ redisServer }) => {
    const { server, store, isReady } = await openScene(redisServer.url, open);
    const claim = newClaim();
    await server.kill();
    await expect.poll(isReady).toBe(false);
    // Nobody starts it before all of them have been refused: none waits for it.
    expect(await codeOf(store.claim(claim))).toBe('REDIS_NOT_CONNECTED');
    expect(await codeOf(store.renew(claim))).toBe('REDIS_NOT_CONNECTED');
    expect(await codeOf(store.end(claim, FINISH))).toBe('REDIS_NOT_CONNECTED');
    expect(await codeOf(store.find(claim.id))).toBe('REDIS_NOT_CONNECTED');
    expect(await codeOf(store.erase('somebody'))).toBe('REDIS_NOT_CONNECTED');
    await server.start();
    await expect.poll(isReady).toBe(true);
    expect(await store.find(claim.id)).toBeUndefined();
  });

  test('that was killed and comes back knows what runs and what has finished [S1.3]', async ({ redisServer }) => {
    const { server, store, isReady } = await openScene(redisServer.url, open);
    const [running, finished] = [newClaim(), newClaim()];
    for (const claim of [running, finished]) await store.claim(claim);
    await store.end(finished, FINISH);
    await server.kill();
    await expect.poll(isReady).toBe(false);
    await server.start();
    await expect.poll(isReady).toBe(true);
    expect(await store.claim(rivalOf(running))).toMatchObject({ kind: 'running' });
    expect(await store.claim(rivalOf(finished))).toMatchObject({
      kind: 'finished',
      reply: FINISH.kind === 'finish' && FINISH.reply,
    });
    expect(await store.claim(running)).toEqual({ kind: 'claimed', run: 1 });
    expect(await store.end(running, FINISH)).toBe('ended');
  });

  test('that hangs answers truthfully when it goes on [S1.3]', async ({ redisServer }) => {
    const { server, store } = await openScene(redisServer.url, open);
    const claim = newClaim();
    server.hang();
    const answers = [store.claim(claim), store.claim(rivalOf(claim)), store.claim(claim)];
    server.goOn();
    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(['claimed', 'running', 'claimed']);
  });

  test('that hung for longer than a lease lets the next one take over, and the first ends too late [S1.3]', async ({
    redisServer,
  }) => {
    const { server, store } = await openScene(redisServer.url, open);
    const claim = newClaim({ leaseMs: 50 });
    await store.claim(claim);
    const claimedAt = performance.now();
    server.hang();
    const renewed = store.renew(claim);
    await expect.poll(() => performance.now() - claimedAt).toBeGreaterThan(60);
    server.goOn();
    // Its renewal came late, but before anybody had taken over.
    expect(await renewed).toBe(true);
    await expect.poll(async () => (await store.find(claim.id))?.status).toBe('unknown');
    expect(await store.claim(rivalOf(claim, { takeUnknown: true, leaseMs: 600_000 }))).toEqual({
      kind: 'claimed',
      run: 2,
    });
    expect([await store.renew(claim), await store.end(claim, FINISH)]).toEqual([false, 'late']);
  });

  test('that has lost everything learns from the end what was done [S1.3]', async ({ redisServer }) => {
    const { store, send } = await openScene(redisServer.url, open);
    const claim = newClaim();
    await store.claim(claim);
    await send('FLUSHALL');
    expect(await store.renew(claim)).toBe(false);
    expect(await store.end(claim, FINISH)).toBe('ended');
    expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'finished', status: 'completed' });
    expect(await store.erase(claim.person ?? '')).toBe(1);
  });

  test('that has lost everything lets a second one run, and the first learns that it is late [S1.3]', async ({
    redisServer,
  }) => {
    const { store, send } = await openScene(redisServer.url, open);
    const claim = newClaim();
    await store.claim(claim);
    await send('FLUSHALL');
    const second = rivalOf(claim);
    expect(await store.claim(second)).toEqual({ kind: 'claimed', run: 1 });
    expect(await store.end(claim, FINISH)).toBe('late');
    expect(await store.end(second, FINISH)).toBe('ended');
  });

  test('that evicts what runs learns from the end what was done [S1.3]', async ({ redisServer }) => {
    const eviction = ['--maxmemory', '3mb', '--maxmemory-policy', 'allkeys-random'];
    const { store, send } = await openScene(redisServer.url, open, ...eviction);
    const claim = newClaim();
    await store.claim(claim);
    let rows = 0;
    await expect
      .poll(
        async () => {
          await Promise.all(Array.from({ length: 500 }, () => send('SET', `junk${(rows += 1)}`, KILO)));
          return store.find(claim.id);
        },
        { interval: 1 },
      )
      .toBeUndefined();
    expect(await store.end(claim, FINISH)).toBe('ended');
    expect(await store.find(claim.id)).toMatchObject({ status: 'completed', run: 1 });
  });

  test('whose memory is full refuses claims and ends, goes on answering, and takes them when there is room [S1.3]', async ({
    redisServer,
  }) => {
    const { store, send } = await openScene(redisServer.url, open);
    const [running, finished, released, next] = [newClaim(), newClaim(), newClaim(), newClaim()];
    const nobody = newClaim({ person: null });
    for (const claim of [running, finished, released, nobody]) await store.claim(claim);
    for (const claim of [finished, nobody]) await store.end(claim, FINISH);
    await send('CONFIG', 'SET', 'maxmemory', '100kb');
    expect(await wordOf(store.claim(next))).toBe('OOM');
    expect(await wordOf(store.claim(newClaim({ person: null })))).toBe('OOM');
    expect(await store.claim(rivalOf(nobody))).toMatchObject({ kind: 'finished' });
    expect(await wordOf(store.end(running, FINISH))).toBe('OOM');
    expect(await store.claim(rivalOf(finished))).toMatchObject({ kind: 'finished' });
    expect(await store.claim(rivalOf(running))).toMatchObject({ kind: 'running' });
    expect(await store.find(next.id)).toBeUndefined();
    expect(await store.end(released, { kind: 'release' })).toBe('ended');
    await send('CONFIG', 'SET', 'maxmemory', '0');
    expect(await store.find(running.id)).toMatchObject({ status: 'processing', reply: null });
    expect(await store.end(running, FINISH)).toBe('ended');
    expect(await store.claim(next)).toEqual({ kind: 'claimed', run: 1 });
  });

  test('that is a replica refuses what would be written, and still answers what has finished [S1.3]', async ({
    redisServer,
  }) => {
    const { server, store, send } = await openScene(redisServer.url, open);
    const [finished, nobody, next] = [newClaim(), newClaim({ person: null }), newClaim()];
    for (const claim of [finished, nobody]) {
      await store.claim(claim);
      await store.end(claim, FINISH);
    }
    // Of a primary that is not there, as after a failover.
    await send('REPLICAOF', '127.0.0.1', String(server.port + 1));
    expect(await wordOf(store.claim(next))).toBe('READONLY');
    expect(await wordOf(store.end(next, FINISH))).toBe('READONLY');
    expect(await store.claim(rivalOf(finished))).toMatchObject({ kind: 'finished' });
    expect(await wordOf(store.claim(newClaim({ person: null })))).toBe('READONLY');
    expect(await store.claim(rivalOf(nobody))).toMatchObject({ kind: 'finished' });
    await send('REPLICAOF', 'NO', 'ONE');
    expect(await store.find(next.id)).toBeUndefined();
    expect(await store.claim(next)).toEqual({ kind: 'claimed', run: 1 });
  });

  test('that has forgotten the scripts is told them again [S1.3]', async ({ redisServer }) => {
    const { store, send } = await openScene(redisServer.url, open);
    const claim = newClaim();
    for (const step of [() => store.claim(claim), () => store.renew(claim), () => store.end(claim, FINISH)]) {
      await send('SCRIPT', 'FLUSH');
      await step();
    }
    await send('SCRIPT', 'FLUSH');
    expect(await store.find(claim.id)).toMatchObject({ status: 'completed' });
    await send('SCRIPT', 'FLUSH');
    expect(await store.erase(claim.person ?? '')).toBe(1);
  });
});

test('a claim whose answer did not come in time may have been granted: asked again by its owner, it is told so [S1.3]', async ({
  redisServer,
}) => {
  const server = await privateRedis(redisServer.url);
  const { client } = await openIoredis(server.url, { commandTimeout: 100 });
  const store = redisIdempotency({ client });
  // The script is known by then: what times out is the claim, not the question for it.
  await store.claim(newClaim());
  const claim = newClaim();
  server.hang();
  await expect(store.claim(claim)).rejects.toThrow('Command timed out');
  server.goOn();
  expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'running' });
  expect(await store.claim(claim)).toEqual({ kind: 'claimed', run: 1 });
});
