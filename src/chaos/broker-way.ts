import { kafka } from '../kafka/kafka-transport.ts';
import { nats } from '../nats/nats.ts';
import { rabbitmq } from '../rabbitmq/rabbitmq.ts';
import { redisStreams } from '../redis/redis-streams.ts';
import type { RedisStreamClient } from '../redis/redis-commands.ts';
import type { Transport } from '../transport/transport.ts';
import { stepTaken } from './step.ts';
import { topicOfType } from '../transport/topic-of-type.ts';

/** The brokers that drills know. */
export const BROKER_KINDS = ['redis', 'rabbitmq', 'kafka', 'nats'] as const;
export type BrokerKind = (typeof BROKER_KINDS)[number];

/** A Redis, and where its client is. */
export interface RedisWay {
  readonly url: string;
  /** Where `ioredis` is; absent where another client is used. */
  readonly ioredis: string | undefined;
}

/** The way of a drill's messages through a broker. It crosses to other processes as JSON. */
export interface BrokerWay extends RedisWay {
  readonly kind: BrokerKind;
  /** Stands before the names of all that is made there. */
  readonly prefix: string;
  /** The service that consumes: its queue and its group carry this name. */
  readonly consumer: string;
}

/** Everything a drill makes at a broker. */
export interface BrokerPlaces {
  readonly topic: string;
  readonly dead: string;
  readonly queue: string;
  readonly group: string;
}

export function placesOf({ prefix, consumer }: Pick<BrokerWay, 'prefix' | 'consumer'>): BrokerPlaces {
  const topic = `${prefix}${topicOfType(stepTaken.type)}`;
  return {
    topic,
    dead: `${topic}.dlq`,
    queue: `${prefix}${consumer}.${topicOfType(stepTaken.type)}`,
    group: `${prefix}${consumer}`,
  };
}

const USUAL_PORTS: Readonly<Record<string, string>> = {
  'redis:': '6379',
  'rediss:': '6379',
  'amqp:': '5672',
  'amqps:': '5671',
  'nats:': '4222',
  'tls:': '4222',
};

/** The addresses of a broker's URL, as `host:port`. */
export function addressesOf({ kind, url }: Pick<BrokerWay, 'kind' | 'url'>): readonly string[] {
  if (kind === 'kafka') return url.split(',').map((one) => one.trim());
  const { hostname, port, protocol } = new URL(url);
  return [`${hostname}:${port || USUAL_PORTS[protocol] || ''}`];
}

// Soon: a drill cuts connections all the time, and looks how long it takes.
const RECONNECT_MS = 50;

/** The transport of a process of the drill. */
export async function openTransport(way: BrokerWay): Promise<Transport> {
  const { kind, url, prefix } = way;
  if (kind === 'rabbitmq') return rabbitmq({ url, prefix });
  if (kind === 'kafka') return kafka({ brokers: addressesOf(way), prefix });
  if (kind === 'nats') return nats({ servers: url, prefix });
  return redisStreams({ client: (await openRedis(way)).client, prefix });
}

/** A client of ioredis, as far as a drill uses it. */
export type DrillRedis = RedisStreamClient & {
  readonly status: string;
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(text: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  scan(cursor: string, match: 'MATCH', pattern: string, count: 'COUNT', size: number): Promise<[string, string[]]>;
  del(...keys: string[]): Promise<unknown>;
  ping(): Promise<unknown>;
  info(section: 'server'): Promise<string>;
  disconnect(): void;
  on(event: 'error', heard: () => void): unknown;
};

type RedisConstructor = new (url: string, options: object) => DrillRedis;

export async function openRedis({ url, ioredis = 'ioredis' }: RedisWay): Promise<{ readonly client: DrillRedis }> {
  const module = (await import(ioredis)) as { readonly Redis?: RedisConstructor; readonly default: RedisConstructor };
  const Redis = module.Redis ?? module.default;
  const client = new Redis(url, { retryStrategy: () => RECONNECT_MS, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  // In an object: whoever waits for a client that can be waited for would wait for something else.
  return { client };
}
