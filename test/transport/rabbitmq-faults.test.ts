import { afterAll, describe, expect, onTestFinished } from 'vitest';
import { event } from '../../src/index.ts';
import { rabbitmq } from '../../src/rabbitmq/index.ts';
import { rabbitmqBroker } from '../../src/rabbitmq/rabbitmq.ts';
import { transportContract } from '../../src/testing/index.ts';
import type { Broker, OutboundMessage } from '../../src/transport/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from '../relay/service.ts';
import { privateRabbitmq, type PrivateRabbitmq } from './private-rabbitmq.ts';

const test = needs('postgres', 'rabbitmqServer');
const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });
const LARGEST = 1_048_576;

let server: PrivateRabbitmq | undefined;
afterAll(() => server?.remove());

/** One for all tests here, because it takes its time to start; each leaves it running. */
async function atHand(program: string): Promise<PrivateRabbitmq> {
  server ??= await privateRabbitmq(program, {
    settings: [`max_message_size = ${LARGEST}`],
    users: [{ name: 'reader', configure: '^$', write: '^$', read: '.*' }],
  });
  return server;
}

async function started(program: string): Promise<PrivateRabbitmq> {
  const isNew = server === undefined;
  const here = await atHand(program);
  if (isNew) await here.start();
  return here;
}

let prefixes = 0;
const newPrefix = (): string => `f${(prefixes += 1)}.`;

function message(n: number): OutboundMessage {
  const attributes = { specversion: '1.0', id: String(n), source: 'test', type: 'order.placed' };
  return {
    type: 'order.placed',
    key: `k${n}`,
    isDead: false,
    attributes,
    headers: {},
    body: Buffer.from(JSON.stringify({ n })),
  };
}

async function consuming(broker: Broker): Promise<{ readonly seen: number[]; readonly lost: unknown[] }> {
  const [seen, lost]: [number[], unknown[]] = [[], []];
  const consumption = await broker.consume({
    group: 'mail',
    types: ['order.placed'],
    isDead: false,
    onBatch: async (batch) => {
      seen.push(...batch.map(({ body }) => (JSON.parse(Buffer.from(body).toString()) as { n: number }).n));
    },
    onPlace: () => undefined,
    onLost: (error) => void lost.push(error),
  });
  onTestFinished(() => consumption.stop());
  return { seen, lost };
}

/** What it rejects with; what was on its way when the server was halted may still succeed. */
async function failing(work: () => Promise<unknown>): Promise<unknown> {
  try {
    for (;;) await work();
  } catch (error) {
    return error;
  }
}

describe('a RabbitMQ', () => {
  test('that is away at the start is waited for, visibly; nothing is lost, and no attempt counted [S1.5]', async ({
    postgres,
    rabbitmqServer,
  }) => {
    const broker = await atHand(rabbitmqServer.url);
    const here = await testService(postgres);
    const orders = here.another({ transport: rabbitmq({ url: broker.url, prefix: newPrefix() }) });
    const seen: number[] = [];
    orders.on(placed, 'book', ({ n }) => void seen.push(n));
    await here.start({ of: orders });
    await here.inTransaction(async (tx) => {
      for (const n of [1, 2, 3]) await orders.send(tx, placed, { order: 'a', n });
    });
    const told = (): string[] => [
      ...new Set(here.events.flatMap((one) => (one.kind === 'transport-failed' ? [one.during] : []))),
    ];
    await expect.poll(() => told().toSorted((a, b) => a.localeCompare(b))).toEqual(['consume', 'publish']);
    expect(await here.column('select attempts from $.delivery')).toEqual([0, 0, 0]);
    await broker.start();
    await expect.poll(() => seen).toEqual([1, 2, 3]);
  });

  test('that is killed in the middle of the flow and comes back has lost nothing, and nothing has a second effect [S1.5] [S1.6]', async ({
    postgres,
    rabbitmqServer,
  }) => {
    const broker = await started(rabbitmqServer.url);
    const here = await testService(postgres);
    const transport = (): ReturnType<typeof rabbitmq> => rabbitmq({ url: broker.url, prefix });
    const prefix = newPrefix();
    const orders = here.another({ service: 'orders', transport: transport() });
    const mail = here.another({ service: 'mail', transport: transport() });
    await here.column('alter table $.effect add at bigserial');
    mail.on(placed, 'note', ({ order, n }, ctx) =>
      ctx.commit(async (tx) => {
        await tx.query(`insert into "${here.schema}".effect (id, n) values ($1, $2)`, [order, n]);
      }),
    );
    await here.start({ of: mail });
    await here.start({ of: orders });
    const TOTAL = 1_500;
    const send = async (from: number, to: number): Promise<void> => {
      await here.inTransaction(async (tx) => {
        for (let n = from; n < to; n++) await orders.send(tx, placed, { order: `k${n % 7}`, n });
      });
    };
    await send(0, 1);
    await expect.poll(() => here.column('select count(*)::int from $.effect')).toEqual([1]);
    await broker.registered();
    await send(1, 500);
    await expect.poll(() => here.column('select count(*)::int > 20 from $.effect')).toEqual([true]);
    const sending = send(500, 1_000);
    await broker.kill();
    await sending;
    await send(1_000, TOTAL);
    await broker.start();
    await expect.poll(() => here.column('select count(*)::int from $.effect')).toEqual([TOTAL]);
    expect(await here.column('select count(distinct n)::int from $.effect')).toEqual([TOTAL]);
    const failed = here.events.filter((one) => one.kind === 'transport-failed');
    expect(failed.length).toBeGreaterThan(0);
    const ofKey = (await here.column(`select n from $.effect where id = 'k3' order by at`)) as number[];
    expect(ofKey).toEqual([...ofKey].sort((a, b) => a - b));
  });

  test('that hangs ends in an error and in a loss that is told, and goes on when it goes on [S1.5]', async ({
    rabbitmqServer,
  }) => {
    const broker = await started(rabbitmqServer.url);
    const options = { url: broker.url, prefix: newPrefix() };
    const publisher = rabbitmqBroker(options);
    onTestFinished(() => publisher.close());
    const { seen, lost } = await consuming(rabbitmqBroker(options));
    await publisher.publish([message(1)]);
    await expect.poll(() => seen).toEqual([1]);
    broker.hang();
    try {
      const opening = rabbitmqBroker(options);
      const errors = await Promise.all([
        failing(() => publisher.publish([message(2)])),
        failing(() => opening.publish([message(3)])),
        failing(() => consuming(opening)),
      ]);
      for (const error of errors) expect(error).toBeInstanceOf(Error);
      await expect.poll(() => lost.length).toBe(1);
    } finally {
      broker.goOn();
    }
    const again = await consuming(rabbitmqBroker(options));
    await expect.poll(() => publisher.publish([message(4)]).catch(() => [])).toEqual([{ kind: 'published' }]);
    await expect.poll(() => again.seen).toContain(4);
    expect(lost).toHaveLength(1);
  });

  test('gives who has no right a clear answer: the message has failed, the consumer cannot begin [S1.5]', async ({
    rabbitmqServer,
  }) => {
    const broker = await started(rabbitmqServer.url);
    const prefix = newPrefix();
    const allowed = rabbitmqBroker({ url: broker.url, prefix });
    await consuming(allowed);
    const reader = { url: broker.urlOf('reader'), prefix };
    for (const declares of [true, false]) {
      const publisher = rabbitmqBroker({ ...reader, declares });
      onTestFinished(() => publisher.close());
      const [first, second] = await publisher.publish([message(1), message(2)]);
      for (const result of [first, second])
        expect(result).toMatchObject({
          kind: 'failed',
          error: { code: 'BROKER_REFUSED', message: expect.stringMatching(/ACCESS_REFUSED/) },
        });
    }
    await expect(consuming(rabbitmqBroker(reader))).rejects.toMatchObject({ code: 'BROKER_REFUSED' });
    const { seen } = await consuming(rabbitmqBroker({ ...reader, prefix, declares: false }));
    expect(seen).toEqual([]);
  });

  test('refuses who has the wrong password with its own words [S1.5]', async ({ rabbitmqServer }) => {
    const broker = await started(rabbitmqServer.url);
    const stranger = rabbitmqBroker({ url: broker.url.replace('guest:guest', 'guest:wrong') });
    await expect(stranger.publish([message(1)])).rejects.toThrow(/ACCESS_REFUSED/);
  });

  for (const { name, run } of transportContract().filter((one) => one.name.includes('too large'))) {
    test(`with a limit: ${name} [S1.5]`, async ({ rabbitmqServer }) => {
      const { url } = await started(rabbitmqServer.url);
      const prefix = newPrefix();
      const harness = { open: () => rabbitmqBroker({ url, prefix }), tooLarge: LARGEST + 1 };
      await expect(run(harness)).resolves.toBeUndefined();
    });
  }
});
