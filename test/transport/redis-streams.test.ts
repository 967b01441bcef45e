import { Redis } from 'ioredis';
import { createClient as nodeRedis } from 'redis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { RunCommand } from '../../src/redis/redis-commands.ts';
import { redisStreamsBroker } from '../../src/redis/redis-streams.ts';
import { StreamReader } from '../../src/redis/stream-reader.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { newId } from '../../src/system/new-id.ts';
import { BATCH_BYTES, BatchLimit } from '../../src/transport/batch-limit.ts';
import type {
  Broker,
  ConsumeRequest,
  Consumption,
  InboundMessage,
  OutboundMessage,
} from '../../src/transport/broker.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { message } from './broker-kit.ts';
import { numberIn } from './number-in.ts';

const GROUP = 'mail';
const TYPE = 'order.placed';

test('a connection of node-redis to a server that is away can be closed while it tries, and tries no more [S1.5]', async () => {
  const made: ReturnType<typeof nodeRedis>[] = [];
  // Nobody listens there.
  const client = nodeRedis({ url: 'redis://127.0.0.1:1' });
  const duplicate = client.duplicate.bind(client);
  client.duplicate = ((...args: Parameters<typeof duplicate>) => {
    const own = duplicate(...args);
    made.push(own as never);
    return own;
  }) as never;
  const broker = redisStreamsBroker({ client });
  const publishing = publish(broker, 1);
  publishing.catch(() => undefined);
  await expect.poll(() => made.map(({ isOpen }) => isOpen)).toEqual([true]);
  await broker.close();
  await expect(publishing).rejects.toThrow(/closed/);
  expect(made.map(({ isOpen }) => isOpen)).toEqual([false]);
});

describe('a reader of Redis Streams', () => {
  const onServer = needs('redis');

  test('that stood still asks for nothing new before it has made sure that the stream is its own [S0.8] [S1.5]', async () => {
    let aheadMs = 0;
    const { monoMs } = systemEffects;
    const clock = vi.spyOn(systemEffects, 'monoMs').mockImplementation(() => monoMs() + aheadMs);
    onTestFinished(() => clock.mockRestore());
    const asked: string[] = [];
    const answers: Record<string, unknown> = {
      EVAL: 1,
      XGROUP: 'OK',
      XINFO: [],
      TIME: ['1', '0'],
    };
    const act: RunCommand = async (command = '') => {
      asked.push(command);
      // Another has taken the stream while it stood still.
      return command === 'EVAL' && aheadMs > 0 ? 0 : answers[command];
    };
    const never = new Promise<never>(() => undefined);
    const read: RunCommand = async (command = '', script = '') => {
      if (script.includes('XAUTOCLAIM')) return ['0-0', []];
      asked.push(`${command} for new entries`);
      if (aheadMs > 0) return never;
      aheadMs = 9_000;
      return [['1-0', ['body', '1']]];
    };
    const found: InboundMessage[] = [];
    const request = {
      group: GROUP,
      types: [TYPE],
      isDead: false,
      onBatch: async (batch: readonly InboundMessage[]) => void found.push(...batch),
      onPlace: () => undefined,
      onLost: () => undefined,
    };
    const reader = new StreamReader(
      { run: read, close: () => undefined },
      { run: act, close: () => undefined },
      { request, transport: 'redis', streams: ['order'], keepMs: 1_000, limit: new BatchLimit(systemEffects) },
    );
    await reader.start();
    await expect.poll(() => asked.filter((one) => one === 'EVAL').length).toBeGreaterThan(1);
    expect(found).toHaveLength(1);
    expect(asked.filter((one) => one.endsWith('for new entries'))).toHaveLength(1);
    await reader.stop();
  });

  test('that lost its stream while it stored, and took it again, acknowledges nothing of before: it may be another stream [S0.8] [S1.5]', async () => {
    const entry = ['1-0', ['body', '1']];
    const told: string[] = [];
    let taken = 0;
    const act: RunCommand = async (command = '', script = '') => {
      if (script.includes('XACK')) told.push('acknowledged');
      // At first, and once more when its own sign of life was gone, it is free.
      else if (script.includes("'SET'")) return (taken += 1) <= 2 ? 1 : 2;
      return command === 'XINFO' ? [] : command === 'TIME' ? ['1', '0'] : 1;
    };
    const asked = { left: 0, new: 0 };
    const read: RunCommand = async (command = '', script = '') => {
      if (script.includes('XAUTOCLAIM')) return ['0-0', (asked.left += 1) === 2 ? [entry] : []];
      if (command === 'EVAL') return (asked.new += 1) === 1 ? [entry] : [];
      return new Promise((resolve) => systemEffects.setTimer(() => resolve(null), 5));
    };
    const onBatch = async (): Promise<void> => {
      told.push('stored');
      const before = taken;
      // A sign of life is given every three seconds.
      if (told.length === 1) await expect.poll(() => taken).toBeGreaterThan(before);
    };
    const request = {
      group: GROUP,
      types: [TYPE],
      isDead: false,
      onBatch,
      onPlace: () => undefined,
      onLost: () => undefined,
    };
    const reader = new StreamReader(
      { run: read, close: () => undefined },
      { run: act, close: () => undefined },
      { request, transport: 'redis', streams: ['order'], keepMs: 1_000, limit: new BatchLimit(systemEffects) },
    );
    await reader.start();
    await expect.poll(() => told).toContain('acknowledged');
    expect(told).toEqual(['stored', 'stored', 'acknowledged']);
    await reader.stop();
  });

  onServer(
    'that stops leaves what it had read ahead to the next, in order, and nothing of its name [S0.8] [S1.5]',
    async ({ redis: { url, namespace } }) => {
      const client = connect(url);
      const prefix = `${namespace}:ahead:`;
      const broker = redisStreamsBroker({ client, prefix });
      onTestFinished(() => broker.close());
      await publish(broker, 1_200);
      const halted = Promise.withResolvers<void>();
      halted.promise.catch(() => undefined);
      const first = await consume(broker, { onBatch: () => halted.promise });
      const openOf = async (): Promise<number> => Number((await pending(client, `${prefix}order`))[0]);
      await expect.poll(openOf).toBe(1_000);
      const stopping = first.stop();
      halted.reject(new Error('it stops'));
      await stopping;
      expect(await consumers(client, `${prefix}order`)).toEqual([['holdfast-left', 1_000]]);

      const numbers: number[] = [];
      await consume(broker, { onBatch: async (batch) => void numbers.push(...batch.map(numberIn)) });
      await expect.poll(() => numbers.length).toBe(1_200);
      expect(numbers).toEqual(numbers.map((_, place) => place));
      await expect.poll(openOf).toBe(0);
    },
  );

  onServer(
    'takes a backlog of large entries in parts, new ones and those that another left, and has two parts in its hand at most [S0.8] [S1.5]',
    async ({ redis: { url, namespace } }) => {
      const size = 900_000;
      const count = amount(20, 510);
      const fits = Math.ceil(BATCH_BYTES / size);
      const client = connect(url);
      const prefix = `${namespace}:large:`;
      const broker = redisStreamsBroker({ client, prefix });
      onTestFinished(() => broker.close());
      const text = 'x'.repeat(size);
      for (let n = 0; n < count; n++)
        await broker.publish([message(n, { body: Buffer.from(JSON.stringify({ n, text })) })]);
      const halted = Promise.withResolvers<void>();
      halted.promise.catch(() => undefined);
      const first = await consume(broker, { onBatch: () => halted.promise });
      const openOf = async (): Promise<number> => Number((await pending(client, `${prefix}order`))[0]);
      await expect.poll(openOf).toBe(2 * fits);
      const stopping = first.stop();
      halted.reject(new Error('it stops'));
      await stopping;

      const batches: InboundMessage[][] = [];
      const stored = (): InboundMessage[] => batches.flat();
      await consume(broker, { onBatch: async (batch) => void batches.push([...batch]) });
      await expect.poll(() => stored().length, { timeout: 120_000 }).toBe(count);
      expect(stored().map(numberIn)).toEqual(Array.from({ length: count }, (_, n) => n));
      expect(Math.max(...batches.map(({ length }) => length))).toBe(fits);
      await expect.poll(openOf).toBe(0);
    },
  );

  onServer(
    'whose stream was free for a while takes what others may have left there [S0.8] [S1.5]',
    async ({ redis: { url, namespace } }) => {
      const client = connect(url);
      const prefix = `${namespace}:free:`;
      const stream = `${prefix}order`;
      const broker = redisStreamsBroker({ client, prefix });
      onTestFinished(() => broker.close());
      const found: InboundMessage[] = [];
      await consume(broker, { onBatch: async (batch) => void found.push(...batch) });
      await publish(broker, 1);
      await expect.poll(() => found.length).toBe(1);
      await expect.poll(async () => Number((await pending(client, stream))[0])).toBe(0);

      // As if another had held it in between, and had died with this one in its hand.
      await client.del(`{${stream}}:reader:${GROUP}`);
      const id = String(found[0]?.sourceId.split('@').at(-1));
      await client.xclaim(stream, GROUP, 'another', 0, id, 'FORCE', 'JUSTID');
      await expect.poll(() => found.length).toBe(2);
      expect(found[1]?.sourceId).toBe(found[0]?.sourceId);
      await expect.poll(async () => Number((await pending(client, stream))[0])).toBe(0);
    },
  );
});

function connect(url: string): Redis {
  const client = new Redis(url);
  onTestFinished(() => client.disconnect());
  return client;
}

async function publish(broker: Broker, count: number): Promise<void> {
  const attributes = { specversion: '1.0', source: 'test', type: TYPE, datacontenttype: 'application/json' };
  const messages = Array.from({ length: count }, (_, n): OutboundMessage => {
    const body = Buffer.from(JSON.stringify({ n }));
    return { type: TYPE, key: undefined, isDead: false, attributes: { ...attributes, id: newId() }, headers: {}, body };
  });
  await broker.publish(messages);
}

async function consume(broker: Broker, { onBatch }: Pick<ConsumeRequest, 'onBatch'>): Promise<Consumption> {
  const request = {
    group: GROUP,
    types: [TYPE],
    isDead: false,
    onBatch,
    onPlace: () => undefined,
    onLost: () => undefined,
  };
  const consumption = await broker.consume(request);
  onTestFinished(() => consumption.stop());
  return consumption;
}

async function pending(client: Redis, stream: string): Promise<unknown[]> {
  return client.xpending(stream, GROUP);
}

/** Their names, and how much each has in its hand. */
async function consumers(client: Redis, stream: string): Promise<(readonly [name: unknown, open: unknown])[]> {
  const listed = (await client.xinfo('CONSUMERS', stream, GROUP)) as unknown[];
  return listed.map((one) => {
    const about = Array.isArray(one) ? pairsOf(one) : new Map(Object.entries(one as object));
    return [about.get('name'), about.get('pending')] as const;
  });
}

function pairsOf(flat: readonly unknown[]): Map<unknown, unknown> {
  return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]] as const] : [])));
}
