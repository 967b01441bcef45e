import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { event, holdfast } from '../../src/index.ts';
import { postgres as postgresStore } from '../../src/postgres/index.ts';
import { redisStreams } from '../../src/redis/index.ts';
import { privateRedis } from '../idempotency-stores/private-redis.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { runHoldfast, type Said, startHoldfast } from './holdfast-process.ts';
import { connect, ownSchema } from './own-schema.ts';
import { runHere } from './run-here.ts';

const test = needs('postgres', 'redisServer');
const CONFIG = ['--config', fileURLToPath(new URL('shop-service.ts', import.meta.url))];
const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });

/** A shop with a Redis of its own, of which nothing runs yet but the servers. */
async function openShop(postgres: TestServer, program: string) {
  const redis = await privateRedis(program);
  const { schema, env: place } = ownSchema(postgres);
  const env = { ...place, SHOP_REDIS_PORT: String(redis.port) };
  const database = await connect(postgres);
  const client = new Redis(redis.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  const run = (...args: readonly string[]): Promise<Said> => runHere(args, { env });
  expect((await run('migrate')).code).toBe(0);
  await database.query(`create table ${schema}.shipped (order_id text not null, n int not null)`);
  // It only sends: nothing is published here.
  const hf = holdfast({ service: 'shop', store: postgresStore({ schema }), transport: redisStreams({ client }) });
  const numbers = async (query: string): Promise<readonly unknown[]> => {
    const { rows } = await database.query<{ n: unknown }>(query.replaceAll('$', schema));
    return rows.map(({ n }) => n);
  };
  return {
    redis,
    client,
    env,
    run,
    numbers,
    send: async (from: number, to: number): Promise<void> => {
      await database.query('begin');
      for (let n = from; n < to; n++) await hf.send(database, placed, { order: `o${n % 7}`, n });
      await database.query('commit');
    },
  };
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

test('a relay that starts publishes all that was sent while none ran and the broker was away; no new send is needed [S1.5]', async ({
  postgres,
  redisServer,
}) => {
  const { redis, client, env, send, numbers } = await openShop(postgres, redisServer.url);
  await redis.kill();
  await send(0, 600);
  const relay = startHoldfast(['relay', ...CONFIG, '--json'], { env });
  await relay.until(/"kind":"transport-failed"/);
  expect(await numbers(`select attempts as n from $.delivery group by attempts`)).toEqual([0]);
  await redis.start();
  await expect.poll(() => client.xlen('order')).toBe(600);
  await expect.poll(() => numbers(`select n from $.shipped order by n`)).toEqual(range(600));
  relay.child.kill('SIGTERM');
  expect(await relay.ended).toMatchObject({ code: 0, err: '' });
  // What was sent after its end goes out with the next one, which ends by itself.
  await send(600, 800);
  const { code, out } = await runHoldfast(['relay', '--once', ...CONFIG, '--handlers', 'to-redis'], { env });
  expect({ code, end: out.trim().split('\n').at(-1) }).toEqual({
    code: 0,
    end: expect.stringContaining('drained: 200 handled'),
  });
  expect(await client.xlen('order')).toBe(800);
});

test('dlq:import takes what others put beside a stream into the database, once, and a replay hands it to its handler [S0.9]', async ({
  postgres,
  redisServer,
}) => {
  const { client, env, run, numbers } = await openShop(postgres, redisServer.url);
  const ce = ['ce_specversion', '1.0', 'ce_type', 'order.placed', 'ce_source', 'elsewhere'];
  for (const n of [1, 2]) {
    const about = ['ce_id', `x${n}`, 'ce_partitionkey', `o${n}`, 'dlq-message', 'the warehouse was shut'];
    await client.xadd('order.dlq', '*', ...ce, ...about, 'data', JSON.stringify({ order: `o${n}`, n }));
  }
  const own = ['ce_id', 'x3', 'dlq-service', 'shop', 'data', '{}'];
  await client.xadd('order.dlq', '*', ...ce, ...own);
  const dlqImport = ['dlq:import', ...CONFIG, '--quiet', '500ms'];
  const first = await runHoldfast(dlqImport, { env });
  expect(first).toEqual({ code: 0, out: '2 dead letters imported, 1 is a copy of our own\n', err: '' });
  // Acknowledged: a second import finds nothing.
  expect(await runHoldfast([...dlqImport, '--json'], { env })).toMatchObject({
    code: 0,
    out: expect.stringContaining('"imported":0'),
  });
  expect(await runHoldfast(['relay', '--once', ...CONFIG], { env })).toMatchObject({ code: 0, err: '' });
  expect((await run('dlq:list')).out).toMatch(/from-redis.*holdfast\.imported/);
  expect((await run('dlq:replay', '--handler', 'from-redis', '--yes')).code).toBe(0);
  startHoldfast(['relay', ...CONFIG], { env });
  await expect.poll(() => numbers(`select n from $.shipped order by n`)).toEqual([1, 2]);
});

test('doctor names the place at a broker that messages wait for, and how many they are [S1.5]', async ({
  postgres,
  redisServer,
}) => {
  const { client, env, send, run } = await openShop(postgres, redisServer.url);
  await client.set('order', 'no stream');
  await send(0, 3);
  const relay = ['relay', '--once', ...CONFIG, '--handlers', 'to-redis'];
  // How often each is tried before it ends is not the point.
  expect(await runHoldfast(relay, { env })).toMatchObject({ code: 0, out: expect.stringMatching(/[1-9]\d* retries/) });
  const { out } = await run('doctor', '--stuck-after', '1h');
  expect(out).toMatch(/problem {2}brokers +3 messages of shop\/to-redis wait: .* refused stream "order": WRONGTYPE/);
});
