import { jetstream, type JsMsg } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, onTestFinished } from 'vitest';
import type { NatsOptions } from '../../src/nats/index.ts';
import { needs } from '../support/needs.ts';
import { message, reading } from './broker-kit.ts';
import { ask, openBroker, ownNames } from './nats-kit.ts';

const test = needs('nats');
const range = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, n) => from + n);
const MINUTE = 60_000_000_000;
const CONSUMER = { durable_name: 'mail', ack_policy: 'explicit', max_ack_pending: 1_000 } as const;

type Own = NatsOptions & { readonly prefix: string };

/** Deletes the stream, creates it and the consumer of the group again unless a reader was quicker, and fills it. */
async function recreate(own: Own): Promise<void> {
  const name = `${own.prefix}order`;
  await ask(own, async (manager) => {
    await manager.streams.delete(name);
    const config = { name, subjects: [`${name}.>`], duplicate_window: 2 * MINUTE };
    await manager.streams.add(config).catch(() => undefined);
    await manager.consumers.add(name, CONSUMER).catch(() => undefined);
  });
  await openBroker(own).publish(range(100, 30).map((n) => message(n)));
}

/** Takes so many messages as another reader of the group, and keeps them in its hand. */
async function take(own: Own, count: number): Promise<readonly JsMsg[]> {
  const connection = await connect({ servers: own.servers as string });
  onTestFinished(() => connection.close());
  const consumer = await jetstream(connection).consumers.get(`${own.prefix}order`, 'mail');
  const taken: JsMsg[] = [];
  for await (const one of await consumer.fetch({ max_messages: count, expires: 5_000 })) taken.push(one);
  return taken;
}

describe('a stream of NATS that is deleted, created again and filled', () => {
  test('while a batch of the old one is being stored is read from its first message on: what another has in its hand there is not acknowledged with it [S0.8] [S1.5]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    const held = Promise.withResolvers<void>();
    const isHolding = Promise.withResolvers<void>();
    await openBroker(own).publish(range(0, 10).map((n) => message(n)));
    const { stored, lost } = await reading(openBroker(own), () => {
      isHolding.resolve();
      return held.promise;
    });
    await isHolding.promise;
    await recreate(own);
    const taken = await take(own, 10);
    held.resolve();
    await expect.poll(() => lost.length).toBeGreaterThan(0);
    const { ack_floor: acknowledged } = await ask(own, (manager) =>
      manager.consumers.info(`${own.prefix}order`, 'mail'),
    );
    expect([taken.length, acknowledged.stream_seq]).toEqual([10, 0]);
    for (const one of taken) one.nak();
    await expect.poll(() => range(100, 30).filter((n) => !stored.includes(n)), { timeout: 40_000 }).toEqual([]);
  });

  test('while its reader waits, or nobody reads, is read from its first message on [S0.8] [S1.5]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    await openBroker(own).publish(range(0, 10).map((n) => message(n)));
    const first = await reading(openBroker(own));
    await expect.poll(() => first.stored).toEqual(range(0, 10));
    await recreate(own);
    await expect.poll(() => first.stored, { timeout: 40_000 }).toEqual([...range(0, 10), ...range(100, 30)]);
    expect(first.lost.length).toBeGreaterThan(0);
    await first.stop();
    await recreate(own);
    const second = await reading(openBroker(own));
    await expect.poll(() => second.stored, { timeout: 40_000 }).toEqual(range(100, 30));
  });
});
