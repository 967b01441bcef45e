import { Redis } from 'ioredis';
import { describe, expect, onTestFinished } from 'vitest';
import { event } from '../../src/index.ts';
import { redisStreams } from '../../src/redis/index.ts';
import { redisStreamsBroker } from '../../src/redis/redis-streams.ts';
import { testService } from '../relay/service.ts';
import { needs } from '../support/needs.ts';
import { message, reading } from './broker-kit.ts';

const test = needs('redis', 'postgres');
const range = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, n) => from + n);

/** How Redis says it, depending on what was asked. */
const GONE = /NOGROUP|no longer exists/;

/** A broker and a client of its own, and the name of the stream of `order.placed`. */
function opened(
  { url, namespace }: { url: string; namespace: string },
  name: string,
): {
  readonly client: Redis;
  readonly broker: ReturnType<typeof redisStreamsBroker>;
  readonly prefix: string;
  readonly stream: string;
} {
  const client = new Redis(url);
  const prefix = `${namespace}:${name}:`;
  const broker = redisStreamsBroker({ client, prefix });
  onTestFinished(async () => {
    await broker.close();
    client.disconnect();
  });
  return { client, broker, prefix, stream: `${prefix}order` };
}

/** As `FLUSHALL` does, for the keys of one test: the stream, its groups, and who reads it. */
async function flush(client: Redis, prefix: string): Promise<void> {
  const keys = [...(await client.keys(`${prefix}*`)), ...(await client.keys(`{${prefix}*`))];
  if (keys.length > 0) await client.del(keys);
}

describe('a stream of Redis that is deleted and filled again', () => {
  test('while a batch of the old one is being stored is read from its first entry on, and that is reported [S0.8] [S1.5]', async ({
    redis,
  }) => {
    const { client, broker, prefix } = opened(redis, 'storing');
    await broker.publish(range(0, 10).map((n) => message(n)));
    const held = Promise.withResolvers<void>();
    const isHolding = Promise.withResolvers<void>();
    const { stored, lost } = await reading(broker, () => {
      isHolding.resolve();
      return held.promise;
    });
    await isHolding.promise;
    await flush(client, prefix);
    await broker.publish(range(100, 30).map((n) => message(n)));
    held.resolve();
    await expect.poll(() => stored).toEqual([...range(0, 10), ...range(100, 30)]);
    expect(lost.join()).toMatch(GONE);
  });

  test('while its reader waits is read from its first entry on, and that is reported [S0.8] [S1.5]', async ({
    redis,
  }) => {
    const { client, broker, prefix } = opened(redis, 'waiting');
    await broker.publish(range(0, 10).map((n) => message(n)));
    const { stored, lost } = await reading(broker);
    await expect.poll(() => stored).toEqual(range(0, 10));
    await flush(client, prefix);
    await broker.publish(range(100, 30).map((n) => message(n)));
    await expect.poll(() => stored).toEqual([...range(0, 10), ...range(100, 30)]);
    expect(lost.join()).toMatch(GONE);
  });

  test('while a batch of the old one is being stored, under the same ids: what another has in its hand there is not acknowledged with it [S0.8] [S1.5]', async ({
    redis,
  }) => {
    const { client, broker, prefix, stream } = opened(redis, 'acknowledged');
    const add = async (from: number): Promise<void> => {
      for (const [place, n] of range(from, 5).entries())
        await client.xadd(stream, `${place + 1}-0`, 'data', JSON.stringify({ n }));
    };
    await add(0);
    const held = Promise.withResolvers<void>();
    const isHolding = Promise.withResolvers<void>();
    const { stored } = await reading(broker, () => {
      isHolding.resolve();
      return held.promise;
    });
    await isHolding.promise;
    await flush(client, prefix);
    await add(100);
    await client.xgroup('CREATE', stream, 'mail', '0');
    await client.set(`{${stream}}:reader:mail`, 'another', 'PX', 60_000);
    await client.xreadgroup('GROUP', 'mail', 'another', 'COUNT', 3, 'STREAMS', stream, '>');
    held.resolve();
    await expect.poll(() => stored).toEqual(range(0, 5));
    // The other dies: what it had in its hand comes first.
    await client.del(`{${stream}}:reader:mail`);
    await expect.poll(() => stored).toEqual([...range(0, 5), ...range(100, 5)]);
  });

  test('under ids that the old one had, too: foreign entries without an id have their effects [S0.9] [S1.5]', async ({
    redis,
    postgres,
  }) => {
    const { client, prefix, stream } = opened(redis, 'ids');
    const here = await testService(postgres);
    const seen: number[] = [];
    const decode = ({ headers }: { headers: Readonly<Record<string, string>> }): object => ({
      type: 'order.placed',
      payload: { n: Number(headers['n']) },
    });
    const orders = here.another({ transport: redisStreams({ client, prefix, decode: decode as never }) });
    orders.on(event<{ n: number }>('order.placed'), 'book', ({ n }) => void seen.push(n));
    await here.start({ of: orders });
    const add = async (from: number): Promise<void> => {
      for (const [place, n] of range(from, 5).entries()) await client.xadd(stream, `${place + 1}-0`, 'n', String(n));
    };
    await add(0);
    await expect.poll(() => seen.toSorted((a, b) => a - b)).toEqual(range(0, 5));
    await flush(client, prefix);
    await add(5);
    await expect.poll(() => seen.toSorted((a, b) => a - b), { timeout: 20_000 }).toEqual(range(0, 10));
    const found = await here.column(`select distinct source_id from $.inbox order by source_id`);
    expect(found).toEqual(range(1, 5).map((n) => `redis:${stream}@${n}-0`));
  });
});
