import { createSleep } from '../kernel/sleep.ts';
import { streamName } from '../nats/topology.ts';
import { systemEffects } from '../system/effects.ts';
import { within } from '../transport/within.ts';
import { addressesOf, type BrokerWay, type DrillRedis, openRedis, placesOf } from './broker-way.ts';

/** What a drill makes at a broker before it begins, and takes away at its end. */
export interface BrokerDesk {
  /** Every address that clients of the broker are told, `host:port`. Changes nothing there, and rejects when it cannot be reached. */
  addresses(): Promise<readonly string[]>;
  /** Makes what messages need before anybody sends. */
  prepare(): Promise<void>;
  /** Takes away all that the drill has made. */
  remove(): Promise<void>;
}

const PARTITIONS = 3;
// A group is held for as long as one that left it without a word is waited for.
const GROUP_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 500;

const sleep = createSleep(systemEffects);

/** The desk at the broker of a way. */
export function openDesk(way: BrokerWay): BrokerDesk {
  switch (way.kind) {
    case 'redis':
      return redisDesk(way);
    case 'rabbitmq':
      return rabbitmqDesk(way);
    case 'kafka':
      return kafkaDesk(way);
    case 'nats':
      return natsDesk(way);
    default:
      return way.kind satisfies never;
  }
}

function redisDesk(way: BrokerWay): BrokerDesk {
  const { topic, dead } = placesOf(way);
  const withClient = async (work: (client: DrillRedis) => Promise<unknown>): Promise<void> => {
    const { client } = await openRedis(way);
    try {
      await within(systemEffects, work(client));
    } finally {
      void client.disconnect();
    }
  };
  return {
    addresses: async () => {
      await withClient((client) => client.ping());
      return addressesOf(way);
    },
    prepare: async () => undefined,
    // The marks of who reads a stream go by themselves after a few seconds.
    remove: () => withClient((client) => client.del(topic, dead)),
  };
}

interface AmqpRemovals {
  deleteQueue(queue: string): Promise<unknown>;
  deleteExchange(exchange: string): Promise<unknown>;
}

interface AmqpLink {
  createChannel(): Promise<AmqpRemovals>;
  close(): Promise<unknown>;
  on(event: 'error', heard: () => void): unknown;
}

function rabbitmqDesk(way: BrokerWay): BrokerDesk {
  const { topic, dead, queue } = placesOf(way);
  const connected = async (work: (link: AmqpLink) => Promise<unknown>): Promise<void> => {
    const library = (await import('amqplib')) as unknown as { connect(url: string): Promise<AmqpLink> };
    const link = await within(systemEffects, library.connect(way.url));
    link.on('error', () => undefined);
    try {
      await within(systemEffects, work(link));
    } finally {
      await within(systemEffects, link.close()).catch(() => undefined);
    }
  };
  return {
    addresses: async () => {
      await connected(async () => undefined);
      return addressesOf(way);
    },
    // Exchanges and queues are declared by those who use them.
    prepare: async () => undefined,
    remove: () =>
      connected(async (link) => {
        const channel = await link.createChannel();
        for (const name of [queue, dead]) await channel.deleteQueue(name);
        for (const name of [topic, dead]) await channel.deleteExchange(name);
      }),
  };
}

interface KafkaAdmin {
  metadata(options: object): Promise<{
    readonly brokers: ReadonlyMap<number, { readonly host: string; readonly port: number }>;
  }>;
  createTopics(options: { topics: string[]; partitions: number }): Promise<unknown>;
  deleteTopics(options: { topics: string[] }): Promise<unknown>;
  deleteGroups(options: { groups: string[] }): Promise<unknown>;
  close(): Promise<void>;
}

function kafkaDesk(way: BrokerWay): BrokerDesk {
  const { topic, dead, group } = placesOf(way);
  const asked = async <T>(work: (admin: KafkaAdmin) => Promise<T>): Promise<T> => {
    const { Admin } = (await import('@platformatic/kafka')) as unknown as {
      Admin: new (options: object) => KafkaAdmin;
    };
    const admin = new Admin({ clientId: 'holdfast-drill', bootstrapBrokers: [...addressesOf(way)] });
    try {
      return await within(systemEffects, work(admin));
    } finally {
      await within(systemEffects, admin.close()).catch(() => undefined);
    }
  };
  return {
    addresses: () =>
      asked(async (admin) => {
        const { brokers } = await admin.metadata({ topics: [] });
        return [...addressesOf(way), ...[...brokers.values()].map(({ host, port }) => `${host}:${port}`)];
      }),
    prepare: () =>
      asked(async (admin) => {
        await admin.createTopics({ topics: [topic, dead], partitions: PARTITIONS });
      }),
    remove: async () => {
      await asked((admin) => admin.deleteTopics({ topics: [topic, dead] }));
      const endMs = systemEffects.monoMs() + GROUP_WITHIN_MS;
      while (!(await isGroupGone(asked, group)) && systemEffects.monoMs() < endMs) await sleep(LOOK_EVERY_MS);
    },
  };
}

async function isGroupGone(
  asked: (work: (admin: KafkaAdmin) => Promise<unknown>) => Promise<unknown>,
  group: string,
): Promise<boolean> {
  return asked((admin) => admin.deleteGroups({ groups: [group] })).then(
    () => true,
    (error: unknown) => /GROUP_ID_NOT_FOUND/.test(JSON.stringify(error, Object.getOwnPropertyNames(error ?? {}))),
  );
}

interface NatsLink {
  close(): Promise<unknown>;
}

interface NatsManager {
  readonly streams: {
    names(): AsyncIterable<string>;
    delete(stream: string): Promise<unknown>;
  };
}

function natsDesk(way: BrokerWay): BrokerDesk {
  const connected = async (work: (manager: NatsManager) => Promise<unknown>): Promise<void> => {
    const { connect } = (await import('@nats-io/transport-node')) as unknown as {
      readonly connect: (options: object) => Promise<NatsLink>;
    };
    const { jetstreamManager } = (await import('@nats-io/jetstream')) as unknown as {
      readonly jetstreamManager: (link: NatsLink) => Promise<NatsManager>;
    };
    const link = await within(systemEffects, connect({ servers: way.url }));
    try {
      await within(systemEffects, jetstreamManager(link).then(work));
    } finally {
      await within(systemEffects, link.close()).catch(() => undefined);
    }
  };
  return {
    addresses: async () => {
      await connected(async () => undefined);
      return addressesOf(way);
    },
    // Streams and consumers are made by those who use them.
    prepare: async () => undefined,
    remove: () =>
      connected(async ({ streams }) => {
        const ours: string[] = [];
        for await (const name of streams.names()) if (name.startsWith(streamName(way.prefix))) ours.push(name);
        for (const name of ours) await streams.delete(name);
      }),
  };
}
