import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, onTestFinished } from 'vitest';
import { event, type Holdfast } from '../../src/index.ts';
import { kafka, type KafkaOptions } from '../../src/kafka/index.ts';
import type { InboundMessage } from '../../src/transport/broker.ts';
import type { PoolClient } from 'pg';
import { withAdmin } from '../support/kafka-server.ts';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from '../relay/service.ts';
import { consuming, message } from './broker-kit.ts';
import { openBroker, ownTopics } from './kafka-kit.ts';
import { numberIn } from './number-in.ts';
import { type PrivateKafka, privateKafka } from './private-kafka.ts';

const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });
const KEYS = 10;
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

let own: PrivateKafka | undefined;
afterAll(() => own?.remove());

/** One for all tests here, because it takes its time to start; each leaves it running. */
async function atHand(jars: string): Promise<PrivateKafka> {
  own ??= await privateKafka(jars);
  return own;
}

async function started(jars: string): Promise<PrivateKafka> {
  const isNew = own === undefined;
  const here = await atHand(jars);
  if (isNew) await here.start();
  return here;
}

let prefixes = 0;

/** Topics of one test, not yet made. */
function newTopics({ url }: PrivateKafka): KafkaOptions & { readonly prefix: string } {
  return { brokers: [url], prefix: `f${(prefixes += 1)}-` };
}

async function createTopics(broker: PrivateKafka, { prefix }: { readonly prefix: string }): Promise<void> {
  await broker.createTopics(`${prefix}order`, `${prefix}order.dlq`);
}

/** A service whose effects are rows, in the order in which they were made, with nothing that forbids a second one. */
async function orderService(here: TestService, topics: KafkaOptions): Promise<Holdfast<PoolClient>> {
  await here.column(`alter table $.effect add column made bigserial`);
  const orders = here.another({ transport: kafka(topics) });
  const insert = `insert into "${here.schema}".effect (id, n) values ($1, $2)`;
  orders.project(placed, 'book', async ({ order, n }, tx) => void (await tx.query(insert, [order, n])));
  return orders;
}

async function send(here: TestService, orders: Holdfast<PoolClient>, numbers: readonly number[]): Promise<void> {
  await here.inTransaction(async (tx) => {
    for (const n of numbers) await orders.send(tx, placed, { order: `k${n % KEYS}`, n });
  });
}

/** One effect for each number, and within a key in order. */
async function expectEffects(here: TestService, count: number): Promise<void> {
  await expect.poll(() => here.column(`select count(*)::int from $.effect`)).toEqual([count]);
  for (const key of range(KEYS)) {
    const made = await here.column(`select n from $.effect where id = 'k${key}' order by made`);
    expect(made).toEqual(range(count).filter((n) => n % KEYS === key));
  }
}

function failures(here: TestService, during: 'publish' | 'consume'): number {
  return here.events.filter((one) => one.kind === 'transport-failed' && one.during === during).length;
}

describe('while a Kafka of its own', () => {
  const test = needs('kafkaJars', 'postgres');

  test('is away a service says so and waits, from its start on, and nothing is lost when it comes [S1.5]', async ({
    kafkaJars,
    postgres,
  }) => {
    const broker = await atHand(kafkaJars.url);
    const topics = newTopics(broker);
    const here = await testService(postgres);
    const orders = await orderService(here, topics);
    await here.start({ of: orders });
    await send(here, orders, range(30));
    await expect.poll(() => failures(here, 'publish')).toBeGreaterThan(2);
    await expect.poll(() => failures(here, 'consume')).toBeGreaterThan(2);
    expect(await here.column(`select distinct attempts from $.delivery`)).toEqual([0]);
    await broker.start();
    await createTopics(broker, topics);
    await expectEffects(here, 30);
  });

  test('is killed and started again, in the middle, each message has one effect, in order [S0.8] [S1.5]', async ({
    kafkaJars,
    postgres,
  }) => {
    const broker = await started(kafkaJars.url);
    const topics = newTopics(broker);
    await createTopics(broker, topics);
    const here = await testService(postgres);
    const orders = await orderService(here, topics);
    await here.start({ of: orders });
    await send(here, orders, range(200));
    await expect.poll(() => here.column(`select count(*) > 0 from $.effect`)).toEqual([true]);
    const sending = (async () => {
      for (let at = 200; at < 600; at += 50) await send(here, orders, range(600).slice(at, at + 50));
    })();
    await broker.kill();
    await sending;
    await expect.poll(() => failures(here, 'publish')).toBeGreaterThan(0);
    await expect.poll(() => failures(here, 'consume')).toBeGreaterThan(0);
    await broker.start();
    await expectEffects(here, 600);
  });

  test('hangs, every call ends, what was started can be stopped, and a service that gave up goes on: each message has one effect [S0.8] [S1.5]', async ({
    kafkaJars,
    postgres,
  }) => {
    const broker = await started(kafkaJars.url);
    const [topics, options] = [newTopics(broker), newTopics(broker)];
    for (const one of [topics, options]) await createTopics(broker, one);
    const here = await testService(postgres);
    const orders = await orderService(here, topics);
    await here.start({ of: orders });
    await send(here, orders, range(100));
    const [warm, cold] = [openBroker(options), openBroker(options)];
    const [read, left] = [
      await consuming(openBroker(options)),
      await consuming(openBroker(options), { group: 'left' }),
    ];
    await warm.publish([message(1)]);
    await expect.poll(() => [read.stored.length, left.stored.length]).toEqual([1, 1]);
    await expect.poll(() => here.column(`select count(*)::int from $.effect`)).toEqual([100]);
    await broker.hang();
    try {
      await send(here, orders, range(200).slice(100));
      const silent = /did not answer within|timed out|failed/;
      const starting = consuming(openBroker(options), { group: 'late' });
      await Promise.all([
        expect(warm.publish([message(2)])).rejects.toThrow(silent),
        expect(cold.publish([message(3)])).rejects.toThrow(silent),
        expect(starting).rejects.toThrow(silent),
        left.consumption.stop(),
      ]);
      await expect.poll(() => read.lost.length).toBe(1);
      await Promise.all([read.consumption.stop(), left.consumption.stop(), warm.close(), cold.close()]);
      await expect.poll(() => failures(here, 'publish')).toBeGreaterThan(0);
      await expect.poll(() => failures(here, 'consume')).toBeGreaterThan(0);
    } finally {
      broker.goOn();
    }
    await expect.poll(() => warm.publish([message(4)]).then(() => 'out', String)).toBe('out');
    expect([read.lost.length, left.lost.length]).toEqual([1, 0]);
    await expectEffects(here, 200);
  });

  test('forbids it a topic, the error names that topic, for who writes and for who reads [S1.5]', async ({
    kafkaJars,
  }) => {
    const { url, createTopics: create } = await started(kafkaJars.url);
    await create('sealed', 'secret', 'order');
    const rule = { resourceType: 2, resourcePatternType: 3, principal: 'User:ANONYMOUS', host: '*' } as const;
    const [deny, allow, all, read, write] = [2, 3, 2, 3, 4] as const;
    await withAdmin(url, (admin) =>
      admin.createAcls({
        creations: ['sealed', 'secret'].flatMap((resourceName) => [
          { ...rule, resourceName, operation: all, permissionType: allow },
          { ...rule, resourceName, operation: resourceName === 'sealed' ? write : read, permissionType: deny },
        ]),
      }),
    );
    const broker = openBroker({ brokers: [url] });
    // The broker knows of a rule a moment after it was made.
    const sealed = async (): Promise<string | undefined> =>
      (await broker.publish([message(0, { type: 'sealed.up', key: 'a' })]))[0]?.kind;
    await expect.poll(sealed).toBe('failed');
    const batch = [message(1, { type: 'sealed.up', key: 'a' }), message(2), message(3, { key: 'a' })];
    const results = await broker.publish(batch);
    expect(results.map(({ kind }) => kind)).toEqual(['failed', 'published', 'failed']);
    const [refused] = results;
    expect(String(refused?.kind === 'failed' && refused.error)).toMatch(/TOPIC_AUTHORIZATION_FAILED .* "sealed"/);
    const { lost } = await consuming(broker, { types: ['secret.told'] });
    await expect
      .poll(() => lost.map(String))
      .toEqual([expect.stringMatching(/TOPIC_AUTHORIZATION_FAILED .* "secret"/)]);
    // Beside others it holds up none of them, and is read once it is allowed.
    const beside = await consuming(broker, { group: 'other', types: ['secret.told', 'order.placed'] });
    await broker.publish([message(4, { type: 'secret.told' })]);
    await expect.poll(() => beside.stored.map(numberIn)).toEqual([2]);
    await expect.poll(() => [...beside.waiting.keys()]).toEqual(['secret']);
    await withAdmin(url, (admin) =>
      admin.deleteAcls({
        filters: [{ ...rule, resourceName: 'secret', resourcePatternType: 3, operation: read, permissionType: deny }],
      }),
    );
    await expect.poll(() => beside.stored.map(numberIn)).toEqual([2, 4]);
    expect([beside.lost, beside.waiting.size]).toEqual([[], 0]);
  });
});

describe('a group of consumers on Kafka', () => {
  const test = needs('kafka');

  test('of which one is stopped and one is killed with a batch in its hand stores every message, in order [S0.8]', async ({
    kafka: server,
  }) => {
    const options = await ownTopics(server, 'order');
    const broker = openBroker(options);
    const killed = await startConsumer(options);
    const [staying, stopped] = [await consuming(openBroker(options)), await consuming(openBroker(options))];
    let n = 0;
    const publish = (count: number): Promise<unknown> =>
      broker.publish(range(count).map(() => message(n, { key: `k${n++ % 12}` })));
    // Each of them is given some; the process holds its second batch.
    await expect
      .poll(async () => {
        await publish(24);
        return killed.holds.length > 0 && staying.stored.length > 0 && stopped.stored.length > 0;
      })
      .toBe(true);
    await stopped.consumption.stop();
    await publish(24);
    killed.kill();
    await publish(24);
    const stored = (): readonly InboundMessage[] => [...stopped.stored, ...staying.stored];
    const all = (): Set<number> => new Set([...killed.stored, ...stored().map(numberIn)]);
    await expect.poll(() => all().size).toBe(n);
    expect(killed.holds.every((held) => stored().some((one) => numberIn(one) === held))).toBe(true);
    // Again and again is allowed; but what is stored first is never behind what follows it.
    for (const inbox of [stopped, staying]) {
      for (const key of range(12)) {
        const ofKey = [...new Set(inbox.stored.map(numberIn).filter((one) => one % 12 === key))];
        expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b));
      }
    }
    expect([...staying.lost, ...stopped.lost]).toEqual([]);
  });
});

/** A consumer in a process of its own; what it said it stored, and what it holds. */
async function startConsumer(
  options: KafkaOptions,
): Promise<{ readonly stored: number[]; readonly holds: number[]; kill(): void }> {
  const program = fileURLToPath(new URL('kafka-consumer-process.ts', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const kill = (): void => void child.kill('SIGKILL');
  onTestFinished(async () => {
    kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  });
  const said: Record<string, number[]> = { stored: [], holds: [] };
  const ready = Promise.withResolvers<void>();
  child.once('close', () => ready.reject(new Error('it ended before it was ready')));
  createInterface(child.stdout).on('line', (line) => {
    const [word = '', ...numbers] = line.split(' ');
    if (word === 'ready') ready.resolve();
    said[word]?.push(...numbers.map(Number));
  });
  await ready.promise;
  return { stored: said['stored'] ?? [], holds: said['holds'] ?? [], kill };
}
