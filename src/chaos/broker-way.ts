import { kafka } from '../kafka/kafka-transport.ts';
import { rabbitmq } from '../rabbitmq/rabbitmq.ts';
import { redisStreams } from '../redis/redis-streams.ts';
import type { RedisStreamClient } from '../redis/redis-commands.ts';
import type { Transport } from '../transport/transport.ts';
import { DRILL_SERVICE, stepTaken } from './step.ts';
import { topicOfType } from '../transport/topic-of-type.ts';

/** The brokers that drills know. */
export const BROKER_KINDS = ['redis', 'rabbitmq', 'kafka'] as const;
export type BrokerKind = (typeof BROKER_KINDS)[number];

/** The way of a drill's messages through a broker. It crosses to other processes as JSON. */
export interface BrokerWay {
  readonly kind: BrokerKind;
  /** `redis://…`, `amqp://…`, or for Kafka `host:port`, several with commas. */
  readonly url: string;
  /** Stands before the names of all that is made there. */
  readonly prefix: string;
  /** Where `ioredis` is, for Redis; the other clients are found by their transports. */
  readonly ioredis: string | undefined;
}

/** Everything a drill makes at a broker. */
export interface BrokerPlaces {
  readonly topic: string;
  readonly dead: string;
  readonly queue: string;
  readonly group: string;
}

export function placesOf({ prefix }: Pick<BrokerWay, 'prefix'>): BrokerPlaces {
  const topic = `${prefix}${topicOfType(stepTaken.type)}`;
  return {
    topic,
    dead: `${topic}.dlq`,
    queue: `${prefix}${DRILL_SERVICE}.${topicOfType(stepTaken.type)}`,
    group: `${prefix}${DRILL_SERVICE}`,
  };
}

/** The addresses of a broker's URL, as `host:port`. */
export function addressesOf({ kind, url }: Pick<BrokerWay, 'kind' | 'url'>): readonly string[] {
  if (kind === 'kafka') return url.split(',').map((one) => one.trim());
  const { hostname, port, protocol } = new URL(url);
  const usual = kind === 'redis' ? '6379' : protocol === 'amqps:' ? '5671' : '5672';
  return [`${hostname}:${port || usual}`];
}

// Soon: a drill cuts connections all the time, and looks how long it takes.
const RECONNECT_MS = 50;

/** The transport of a process of the drill. */
export async function openTransport(way: BrokerWay): Promise<Transport> {
  const { kind, url, prefix } = way;
  if (kind === 'rabbitmq') return rabbitmq({ url, prefix });
  if (kind === 'kafka') return kafka({ brokers: addressesOf(way), prefix });
  return redisStreams({ client: (await openRedis(way)).client, prefix });
}

/** A client of ioredis, as far as a drill uses it. */
export type DrillRedis = RedisStreamClient & {
  del(...keys: string[]): Promise<unknown>;
  ping(): Promise<unknown>;
  disconnect(): void;
  on(event: 'error', heard: () => void): unknown;
};

type RedisConstructor = new (url: string, options: object) => DrillRedis;

export async function openRedis({ url, ioredis = 'ioredis' }: BrokerWay): Promise<{ readonly client: DrillRedis }> {
  const module = (await import(ioredis)) as { readonly Redis?: RedisConstructor; readonly default: RedisConstructor };
  const Redis = module.Redis ?? module.default;
  const client = new Redis(url, { retryStrategy: () => RECONNECT_MS, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  // In an object: whoever waits for a client that can be waited for would wait for something else.
  return { client };
}
