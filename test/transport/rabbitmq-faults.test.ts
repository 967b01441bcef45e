import { afterAll, describe, expect, onTestFinished } from 'vitest';
import { rabbitmq } from '../../src/rabbitmq/index.ts';
import { rabbitmqBroker } from '../../src/rabbitmq/rabbitmq.ts';
import { transportContract } from '../../src/testing/index.ts';
import type { Broker } from '../../src/transport/index.ts';
import { needs } from '../support/needs.ts';
import { hangs, isKilledInTheFlow, startsLater } from './broker-fault-runs.ts';
import { consuming, message } from './broker-kit.ts';
import { privateRabbitmq, type PrivateRabbitmq } from './private-rabbitmq.ts';

const test = needs('postgres', 'rabbitmqServer');
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

/** A broker that is closed when the test ends. */
function openBroker(options: Parameters<typeof rabbitmqBroker>[0]): Broker {
  const broker = rabbitmqBroker(options);
  onTestFinished(() => broker.close());
  return broker;
}

describe('a RabbitMQ', () => {
  test('that is away at the start is waited for, visibly; nothing is lost, and no attempt counted [S1.5]', async ({
    postgres,
    rabbitmqServer,
  }) => {
    const broker = await atHand(rabbitmqServer.url);
    await startsLater(postgres, broker, rabbitmq({ url: broker.url, prefix: newPrefix() }));
  });

  test('that is killed in the middle of the flow and comes back has lost nothing, and nothing has a second effect [S1.5] [S1.6]', async ({
    postgres,
    rabbitmqServer,
  }) => {
    const broker = await started(rabbitmqServer.url);
    const prefix = newPrefix();
    await isKilledInTheFlow(postgres, broker, () => rabbitmq({ url: broker.url, prefix }), 1_500);
  });

  test('that hangs ends in an error and in a loss that is told, and goes on when it goes on [S1.5]', async ({
    rabbitmqServer,
  }) => {
    const broker = await started(rabbitmqServer.url);
    const options = { url: broker.url, prefix: newPrefix() };
    await hangs(broker, () => openBroker(options));
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
      const publisher = openBroker({ ...reader, declares });
      const [first, second] = await publisher.publish([message(1), message(2)]);
      for (const result of [first, second])
        expect(result).toMatchObject({
          kind: 'failed',
          error: { code: 'BROKER_REFUSED', message: expect.stringMatching(/ACCESS_REFUSED/) },
        });
    }
    await expect(consuming(rabbitmqBroker(reader))).rejects.toMatchObject({ code: 'BROKER_REFUSED' });
    const { stored } = await consuming(rabbitmqBroker({ ...reader, prefix, declares: false }));
    expect(stored).toEqual([]);
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
