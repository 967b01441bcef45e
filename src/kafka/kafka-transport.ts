import { OptionCheck } from '../kernel/check-options.ts';
import { systemEffects } from '../system/effects.ts';
import { BatchLimit } from '../transport/batch-limit.ts';
import type {
  Broker,
  ConsumeRequest,
  Consumption,
  Decode,
  OutboundMessage,
  PublishResult,
} from '../transport/broker.ts';
import { checkRetryDelays, retryDelayOf } from '../transport/retry-delay.ts';
import { transportOf } from '../transport/transport-of.ts';
import type { Transport } from '../transport/transport.ts';
import { within } from '../transport/within.ts';
import { topicOfType } from '../transport/topic-of-type.ts';
import { BatchSender } from './batch-sender.ts';
import { groupOffsets } from './group-offsets.ts';
import { GroupReader } from './group-reader.ts';
import { type OutboundRecord, toRecord } from './kafka-record.ts';
import { endClient, type KafkaClients, kafkaClients, type KafkaLibrary, type KafkaProducer } from './kafka-library.ts';
import { partitionOf } from './partition-of.ts';
import { RetryReader } from './retry-reader.ts';

/** What `kafka` takes. Only the brokers must be there. */
export interface KafkaOptions {
  /** `host:port` of one or more brokers of the cluster. */
  readonly brokers: readonly string[];
  /** What brokers call this client in logs and quotas. Default `holdfast`. */
  readonly clientId?: string | undefined;
  /** Options of Node's `tls.connect`. Default: no TLS. */
  readonly tls?: object | undefined;
  /** `mechanism`, and `username` and `password` or `token`, as the client library takes them. Default: none. */
  readonly sasl?: object | undefined;
  /** Further options of the client library, given to each of its clients. */
  readonly clientOptions?: object | undefined;
  /** The library, where it is not to be imported: `import * as client from '@platformatic/kafka'`. */
  readonly client?: KafkaLibrary | undefined;
  /** What tells it from other transports of a service. Default `kafka`. */
  readonly name?: string | undefined;
  /** The topic of a type. Default: what stands before its last dot, `order` for `order.placed`. */
  readonly topic?: ((type: string) => string) | undefined;
  /** Stands before the names of topics and groups. Default none. */
  readonly prefix?: string | undefined;
  /** Records of one partition are sent together up to this many bytes; the broker's limit is for all of them. Default 900,000. */
  readonly maxBatchBytes?: number | undefined;
  /**
   * Retry topics say when a dead letter is tried again: its copy waits in `<topic>.retry.<delay>`, after the first failure the first of these
   * delays, and so on; after the last it stays dead. For handlers with `maxAttempts: 1`. Each delay has a reader of its own.
   * Default none: retries wait in the database.
   */
  readonly retryDelaysMs?: readonly number[] | undefined;
  readonly decode?: Decode | undefined;
}

const MAX_BATCH_BYTES = 900_000;
const CLOSE_MS = 3_000;
const DEAD = '.dlq';
const NAMES = 'brokers clientId tls sasl clientOptions client name topic prefix maxBatchBytes retryDelaysMs decode';

/**
 * Kafka, through `@platformatic/kafka`. The order of a key is that of its partition; each partition is read by one consumer of a
 * group, which stores what it reads and commits only then.
 */
export function kafka(options: KafkaOptions): Transport {
  return transportOf(kafkaBroker(options));
}

/** The broker of `kafka`. */
export function kafkaBroker(options: KafkaOptions): Broker {
  const check = new OptionCheck('kafka()');
  check.known(options, NAMES.split(' '));
  const { brokers, clientId = 'holdfast', tls, sasl, clientOptions, client, name = 'kafka', prefix = '' } = options;
  const { topic = topicOfType, maxBatchBytes = MAX_BATCH_BYTES, retryDelaysMs = [], decode } = options;
  if (!Array.isArray(brokers) || brokers.length === 0 || brokers.some((one) => typeof one !== 'string' || one === ''))
    check.refuse('brokers', brokers, "write a list such as ['localhost:9092']");
  if (client !== undefined && (typeof client.Producer !== 'function' || typeof client.Consumer !== 'function'))
    check.refuse('client', client, "pass what import * as client from '@platformatic/kafka' gives");
  check.number('maxBatchBytes', maxBatchBytes, { min: 1, integer: true, write: 'write bytes, from 1' });
  checkRetryDelays(check, retryDelaysMs);
  check.done();
  const settings = { ...clientOptions, clientId, bootstrapBrokers: [...brokers], ...present({ tls, sasl }) };
  const topicOf = (type: string): string => `${prefix}${topic(type)}`;
  const clients = kafkaClients(settings, client);
  return new KafkaBroker({ clients, name, prefix, topicOf, maxBatchBytes, retryDelaysMs, decode });
}

interface Parts {
  readonly clients: KafkaClients;
  readonly name: string;
  readonly prefix: string;
  readonly topicOf: (type: string) => string;
  readonly maxBatchBytes: number;
  readonly retryDelaysMs: readonly number[];
  readonly decode: Decode | undefined;
}

class KafkaBroker implements Broker {
  readonly name: string;
  readonly keepsOrder = true;
  readonly decode: Decode | undefined;
  readonly #parts: Parts;
  /** The ids that topics had when a group last read them, by the group. */
  readonly #lastIds = new Map<string, Map<string, string>>();
  readonly #limit = new BatchLimit(systemEffects);
  #producer: Promise<KafkaProducer> | undefined;
  #before: Promise<unknown> = Promise.resolve();
  /** The partition of the next message without a key. Begins anywhere, or all short-lived processes would begin with the first. */
  #spread = Math.floor(systemEffects.random() * 1_000_000);

  constructor(parts: Parts) {
    this.name = parts.name;
    this.decode = parts.decode;
    this.#parts = parts;
  }

  load(): Promise<unknown> {
    return this.#parts.clients.load();
  }

  async publish(messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    const givenUp = new AbortController();
    // While the batch before it is on its way: then the broker does not wait for it.
    const records = messages.map(toRecord);
    // One batch after the other: they share the sequence numbers of one producer, and a failure of one begins them anew.
    const sending = within(
      systemEffects,
      this.#before.then(() => this.#publish(messages, records, givenUp.signal)),
    );
    // What is still on its way in the library may not go out later, behind what comes now.
    const giveUp = (error: unknown): Promise<void> => {
      givenUp.abort(error);
      return this.close();
    };
    this.#before = sending.then(() => undefined, giveUp);
    return sending;
  }

  async #publish(
    messages: readonly OutboundMessage[],
    records: readonly OutboundRecord[],
    signal: AbortSignal,
  ): Promise<readonly PublishResult[]> {
    signal.throwIfAborted();
    const { clients, maxBatchBytes } = this.#parts;
    this.#producer ??= clients.producer();
    const producer = await this.#producer;
    const sender = new BatchSender({
      producer,
      maxBatchBytes,
      topicOf: (message) => this.#topicOf(message),
      partitionOf: ({ key }, { partitionsCount }) =>
        key ? partitionOf(key, partitionsCount) : (this.#spread += 1) % partitionsCount,
    });
    return sender.send(messages, records, signal);
  }

  async consume(request: ConsumeRequest): Promise<Consumption> {
    const { topicOf, retryDelaysMs } = this.#parts;
    const topics = [...new Set(request.types.map(topicOf))];
    const ending = request.isDead ? DEAD : '';
    const reading = await this.#read(request, endWith(topics, ending), ending);
    const retries = [...new Set(request.isDead ? [] : retryDelaysMs)].map((delayMs) => {
      const waiting = endWith(topics, retryEnding(delayMs));
      const open = (own: ConsumeRequest): Promise<Consumption> => this.#read(own, waiting, retryEnding(delayMs));
      return new RetryReader({ delayMs, topics: waiting, request, open, effects: systemEffects });
    });
    return { stop: async () => void (await Promise.all([reading, ...retries].map((one) => one.stop()))) };
  }

  async #read(request: ConsumeRequest, topics: readonly string[], ending: string): Promise<Consumption> {
    const { clients, prefix } = this.#parts;
    const group = `${prefix}${request.group}${ending}`;
    const [member, fetcher] = [await clients.consumer(group), await clients.consumer(group)];
    const offsets = groupOffsets(member, await clients.load());
    const lastIds = this.#lastIds.get(group) ?? new Map<string, string>();
    this.#lastIds.set(group, lastIds);
    const reader = new GroupReader(member, fetcher, {
      request,
      topics,
      effects: systemEffects,
      offsets,
      lastIds,
      limit: this.#limit,
    });
    try {
      await within(systemEffects, reader.start());
    } catch (error) {
      await reader.stop();
      throw error;
    }
    return reader;
  }

  #topicOf(message: OutboundMessage): string {
    const { topicOf, retryDelaysMs } = this.#parts;
    const delayMs = retryDelayOf(message, retryDelaysMs);
    return `${topicOf(message.type)}${delayMs === undefined ? (message.isDead ? DEAD : '') : retryEnding(delayMs)}`;
  }

  async close(): Promise<void> {
    const producer = this.#producer;
    this.#producer = undefined;
    const made = await producer?.catch(() => undefined);
    if (made) await endClient(made, (closing) => within(systemEffects, closing, CLOSE_MS));
  }
}

function retryEnding(delayMs: number): string {
  return `.retry.${delayMs}`;
}

function endWith(topics: readonly string[], ending: string): readonly string[] {
  return topics.map((topic) => topic + ending);
}

function present(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
