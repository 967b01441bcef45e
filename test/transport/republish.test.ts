import { Redis } from 'ioredis';
import { describe, expect, onTestFinished } from 'vitest';
import { event } from '../../src/index.ts';
import { kafka } from '../../src/kafka/index.ts';
import { nats } from '../../src/nats/index.ts';
import { rabbitmq } from '../../src/rabbitmq/index.ts';
import { redisStreams } from '../../src/redis/index.ts';
import type { Transport } from '../../src/transport/index.ts';
import { postgresOperator } from '../../src/postgres/operator/postgres-operator.ts';
import { runHere } from '../cli/run-here.ts';
import { testService, type TestService } from '../relay/service.ts';
import { withAdmin } from '../support/kafka-server.ts';
import { withManager } from '../support/nats-server.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connected, dropTopology } from '../support/rabbitmq-server.ts';
import { ownTopics } from './kafka-kit.ts';

const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });
const invoiced = event<{ order: string; n: number }>('invoice.sent', { key: ({ order }) => order });
const COUNT = 12;

/**
 * A receiver has had a part of what was published and is stopped; the broker loses the rest, and what it had delivered too. All of it is
 * published again: each message has one effect, in the order of its key.
 */
async function losesAndPublishesAgain(
  server: TestServer,
  open: () => Transport,
  lose: () => Promise<unknown>,
): Promise<TestService> {
  const here = await testService(server);
  const orders = here.another({ service: 'orders', transport: open() });
  const mail = here.another({ service: 'mail', transport: open() });
  await here.column('alter table $.effect add at bigserial');
  mail.on(placed, 'note', ({ order, n }, ctx) =>
    ctx.commit(async (tx) => {
      await tx.query(`insert into "${here.schema}".effect (id, n) values ($1, $2)`, [order, n]);
    }),
  );
  const send = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++)
      await here.inTransaction((tx) => orders.send(tx, placed, { order: `k${n % 2}`, n }).then(() => undefined));
  };
  const published = `select count(*)::int from $.delivered d join $.handler h on h.id = d.handler where h.name like 'to-%'`;
  const reading = await here.start({ of: mail });
  await here.start({ of: orders, handlers: [`to-${open().name}`] });
  await send(0, 4);
  await expect.poll(() => here.column('select count(*)::int from $.effect'), { timeout: 30_000 }).toEqual([4]);
  await reading.stop();
  await send(4, COUNT);
  await expect.poll(() => here.column(published), { timeout: 30_000 }).toEqual([COUNT]);

  await lose();
  await here.start({ of: mail });
  expect(await here.column('select count(*)::int from $.effect')).toEqual([4]);
  const since = new Date(Date.now() - 3_600_000);
  const args = [
    '--since',
    since.toISOString(),
    '--to',
    open().name,
    '--reason',
    'the broker lost it',
    '--yes',
    '--json',
  ];
  const env = { HOLDFAST_DATABASE_URL: server.url, HOLDFAST_SCHEMA: here.schema };
  const look = await runHere(['events', 'republish', ...args, '--dry-run'], { env });
  expect(look, look.err).toMatchObject({ code: 0 });
  expect(JSON.parse(look.out)).toMatchObject({ bulk: { total: COUNT, state: 'planned' }, dryRun: true });
  const done = await runHere(['events', 'republish', ...args, '--rate', '500', '--canary', '1'], { env });
  expect(done, done.err).toMatchObject({ code: 0 });

  await expect.poll(() => here.column('select count(*)::int from $.effect'), { timeout: 60_000 }).toEqual([COUNT]);
  const audited = `select count(*)::int from $.audit where verb = 'rerun' and reason = 'the broker lost it'`;
  expect(await here.column(audited)).toEqual([COUNT]);
  for (const key of ['k0', 'k1']) {
    const numbers = (await here.column(`select n from $.effect where id = '${key}' order by at`)) as number[];
    expect(numbers).toEqual(Array.from({ length: COUNT / 2 }, (_, place) => 2 * place + Number(key.slice(1))));
  }
  return here;
}

describe('messages that a broker has lost are published again, each has one effect, and keys keep their order:', () => {
  needs('postgres', 'redis')(
    'Redis, whose stream is deleted [X.5]',
    async ({ postgres, redis: { url, namespace } }) => {
      const client = new Redis(url);
      onTestFinished(() => client.disconnect());
      const prefix = `${namespace}:republish:`;
      await losesAndPublishesAgain(
        postgres,
        () => redisStreams({ client, prefix }),
        () => client.del(`${prefix}order`),
      );
    },
  );

  needs('postgres', 'rabbitmq')(
    'RabbitMQ, whose queue is purged [X.5]',
    async ({ postgres, rabbitmq: { url, namespace } }) => {
      const prefix = `${namespace}.republish.`;
      onTestFinished(() => dropTopology(url, prefix, ['order', 'holdfast'], ['mail', 'orders']));
      const purge = (): Promise<void> =>
        connected(
          url,
          async (connection) => void (await (await connection.createChannel()).purgeQueue(`${prefix}mail.order`)),
        );
      await losesAndPublishesAgain(postgres, () => rabbitmq({ url, prefix }), purge);
    },
  );

  needs('postgres', 'nats')(
    'NATS, whose stream is purged, within the time it knows ids [X.5]',
    async ({ postgres, nats: { url, namespace } }) => {
      const prefix = `${namespace}-republish-`;
      const purge = (): Promise<unknown> => withManager(url, (manager) => manager.streams.purge(`${prefix}order`));
      await losesAndPublishesAgain(postgres, () => nats({ servers: url, prefix }), purge);
    },
  );

  needs('postgres', 'kafka')(
    'Kafka, whose topic is deleted and created again [X.5]',
    async ({ postgres, kafka: server }) => {
      const options = await ownTopics(server, 'order', 'order.dlq');
      const topics = [`${options.prefix ?? ''}order`];
      const recreate = (): Promise<void> =>
        withAdmin(server.url, async (admin) => {
          await admin.deleteTopics({ topics });
          const create = (): Promise<string> =>
            admin.createTopics({ topics, partitions: 3, replicas: 1 }).then(() => 'created', String);
          await expect.poll(create).toBe('created');
        });
      await losesAndPublishesAgain(postgres, () => kafka(options), recreate);
    },
  );
});

needs('postgres', 'redis')(
  'a republish selects by type, key and time, says from when on the history is whole, and leaves alone what is open again [X.5]',
  async ({ postgres, redis: { url, namespace } }) => {
    const here = await testService(postgres);
    const client = new Redis(url);
    onTestFinished(() => client.disconnect());
    const orders = here.another({ transport: redisStreams({ client, prefix: `${namespace}:select:` }) });
    const relay = await here.start({ of: orders, handlers: ['to-redis'] });
    await here.inTransaction(async (tx) => {
      for (let n = 0; n < 3; n++) await orders.send(tx, placed, { order: `k${n}`, n });
      await orders.send(tx, invoiced, { order: 'k0', n: 3 });
    });
    await expect.poll(() => here.column('select count(*)::int from $.delivered')).toEqual([4]);
    await relay.stop();
    const operator = postgresOperator({ pool: here.pool, schema: here.schema });
    const by = { actor: 'ann', reason: 'a stream was deleted' };
    const since = new Date(Date.now() - 60_000);
    const plan = async (filter: object): Promise<number> =>
      (await operator.planBulk({ verb: 'republish', filter: { handler: 'to-redis', since, ...filter } }, by)).bulk
        .total;
    expect(await plan({})).toBe(4);
    expect(await plan({ type: 'order.placed' })).toBe(3);
    expect(await plan({ key: 'k0' })).toBe(2);
    expect(await plan({ key: 'k0', type: 'invoice.sent' })).toBe(1);
    expect(await plan({ since: new Date(Date.now() + 60_000) })).toBe(0);
    expect(await plan({ until: since })).toBe(0);
    expect(await plan({ handler: 'to-kafka' })).toBe(0);
    await expect(operator.planBulk({ verb: 'republish', filter: { search: 'x' } }, by)).rejects.toThrow(
      /filter\.handler.*filter\.since.*filter\.search/s,
    );

    const forgotten = new Date(since.getTime() - 60_000);
    await here.pool.query(`update "${here.schema}".meta set forgotten_until = $1`, [forgotten]);
    const first = await operator.planBulk({ verb: 'republish', filter: { handler: 'to-redis', since } }, by);
    expect(first).toMatchObject({ completeSince: forgotten, forecast: [{ handler: 'to-redis', count: 4, keys: 3 }] });
    const second = await operator.planBulk({ verb: 'republish', filter: { handler: 'to-redis', since } }, by);
    await operator.startBulk(first.bulk.id, by);
    await operator.stepBulks();
    // In line as they were sent, once.
    expect(await here.column(`select payload ->> 'n' from $.delivery order by seq`)).toEqual(['0', '1', '2', '3']);
    expect(await here.column(`select distinct rerun from $.delivery`)).toEqual([1]);
    await operator.startBulk(second.bulk.id, by);
    await here.column(`update $.bulk set look_at = clock_timestamp() where look_at is not null returning 1`);
    await operator.stepBulks();
    expect(await operator.bulk(second.bulk.id)).toMatchObject({ bulk: { state: 'done', counts: { skipped: 4 } } });
    await here.start({ of: orders, handlers: ['to-redis'] });
    const ended = async (): Promise<unknown> => {
      await operator.stepBulks();
      const found = await operator.bulk(first.bulk.id);
      return found.kind === 'found' && [found.bulk.state, found.bulk.counts.succeeded];
    };
    await expect.poll(ended).toEqual(['done', 4]);
    expect(await client.xlen(`${namespace}:select:order`)).toBe(6);
  },
);
