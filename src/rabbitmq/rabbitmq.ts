import { OptionCheck } from '../kernel/check-options.ts';
import { systemEffects } from '../system/effects.ts';
import type {
  Broker,
  ConsumeRequest,
  Consumption,
  Decode,
  OutboundMessage,
  PublishResult,
} from '../transport/broker.ts';
import type { KeyLock } from '../transport/key-lock.ts';
import { PlaceGroup } from '../transport/place-group.ts';
import { checkRetryDelays } from '../transport/retry-delay.ts';
import { transportOf } from '../transport/transport-of.ts';
import type { Transport } from '../transport/transport.ts';
import { topicOfType } from '../transport/topic-of-type.ts';
import { type AmqpLibrary, connectBy } from './amqp-client.ts';
import { AmqpLinks } from './amqp-link.ts';
import { ConfirmedPublisher } from './confirmed-publisher.ts';
import { PrefetchLimit } from './prefetch-limit.ts';
import { QueueConsumer } from './queue-consumer.ts';
import { Topology } from './topology.ts';

/** What `rabbitmq` takes. Only the address must be there. */
export interface RabbitmqOptions {
  /**
   * `amqp://user:password@host:port/vhost`, `amqps://…`, or what amqplib's `connect` takes as an object; several are the nodes of a
   * cluster, tried in turn. Without `heartbeat` in it, one of four seconds is asked for.
   */
  readonly url: string | object | readonly (string | object)[];
  /** Passed on to amqplib's `connect`: certificates, `credentials`, `clientProperties`. */
  readonly socketOptions?: object | undefined;
  /** The library, `import amqplib from 'amqplib'`. Default: the one that is installed. */
  readonly client?: AmqpLibrary | undefined;
  /** What tells it from other transports of a service. Default `rabbitmq`. */
  readonly name?: string | undefined;
  /** The topic of a type: its exchange. Default: what stands before its last dot, `order` for `order.placed`. */
  readonly topic?: ((type: string) => string) | undefined;
  /** Stands before the names of exchanges and queues. Default none. */
  readonly prefix?: string | undefined;
  /** False: exchanges and queues are made by others; here they are only used. Default true. */
  readonly declares?: boolean | undefined;
  /** A message that no queue is bound for has failed. Default true; false: it is dropped by the broker. */
  readonly mandatory?: boolean | undefined;
  /**
   * How many messages of a queue are on their way or in the hand at most, 1 to 2,000. Default 1,000; fewer for ten minutes after they took
   * more than 32 MB.
   */
  readonly prefetch?: number | undefined;
  /**
   * Several consumers of a group read a queue at once, and hold the keys of what they store by this lock. The order within a key is
   * not kept then; without this option one consumer at a time reads a queue, and it is.
   */
  readonly competing?: { readonly lock: KeyLock } | undefined;
  /**
   * The broker says when a dead letter is tried again: its copy waits in a queue with a time to live, after the first failure the first of
   * these delays, and so on; after the last it stays dead. For handlers with `maxAttempts: 1`. Default none: retries wait in the database.
   */
  readonly retryDelaysMs?: readonly number[] | undefined;
  readonly decode?: Decode | undefined;
}

const NAMES = ['url', 'socketOptions', 'client', 'name', 'topic', 'prefix', 'declares', 'mandatory', 'prefetch'];
const PREFETCH = 1_000;
const MOST_PREFETCHED = 2_000;

/**
 * RabbitMQ, 3.10 or later. Messages are persistent and each is confirmed; queues are quorum queues, each read by one consumer of its
 * group at a time. What it reads is stored, which is quick, and all processes share the handling of what is stored.
 */
export function rabbitmq(options: RabbitmqOptions): Transport {
  return transportOf(rabbitmqBroker(options));
}

/** The broker of `rabbitmq`. */
export function rabbitmqBroker(options: RabbitmqOptions): Broker {
  const check = new OptionCheck('rabbitmq()');
  check.known(options, [...NAMES, 'competing', 'retryDelaysMs', 'decode']);
  const { url, prefetch = PREFETCH, client, competing, retryDelaysMs = [] } = options;
  const addresses = (Array.isArray(url) ? url : [url]) as readonly (string | object)[];
  if (addresses.length === 0 || !addresses.every(isAddress))
    check.refuse('url', url, 'write amqp://user:password@host/vhost, or what amqplib takes as an object');
  check.number('prefetch', prefetch, {
    min: 1,
    max: MOST_PREFETCHED,
    integer: true,
    write: `write a whole number from 1 to ${MOST_PREFETCHED}`,
  });
  if (client !== undefined && typeof (client as Partial<AmqpLibrary>).connect !== 'function')
    check.refuse('client', client, 'pass the library: import amqplib from "amqplib"');
  if (competing !== undefined && typeof (competing.lock as Partial<KeyLock> | undefined)?.hold !== 'function')
    check.refuse('competing.lock', competing.lock, 'pass redisKeyLock({ client })');
  checkRetryDelays(check, retryDelaysMs);
  check.done();
  return new Rabbitmq({ ...options, addresses, prefetch });
}

type Parts = Omit<RabbitmqOptions, 'url'> & {
  readonly addresses: readonly (string | object)[];
  readonly prefetch: number;
};

class Rabbitmq implements Broker {
  readonly name: string;
  readonly keepsOrder = false;
  readonly decode: Decode | undefined;
  readonly #parts: Parts;
  readonly #links: AmqpLinks;
  readonly #topology: Topology;
  readonly #publisher: ConfirmedPublisher;
  readonly #prefetch: PrefetchLimit;

  constructor(parts: Parts) {
    const { name = 'rabbitmq', topic = topicOfType, prefix = '', declares = true, mandatory = true } = parts;
    const { client, addresses, socketOptions = {}, competing, retryDelaysMs = [], decode } = parts;
    this.name = name;
    this.decode = decode;
    this.#parts = parts;
    this.#links = new AmqpLinks({ connect: connectBy(client), addresses, socketOptions }, systemEffects);
    const isCompeting = competing !== undefined;
    this.#topology = new Topology({ transport: name, topicOf: topic, prefix, declares, isCompeting, retryDelaysMs });
    this.#prefetch = new PrefetchLimit(parts.prefetch, systemEffects);
    this.#publisher = new ConfirmedPublisher({
      transport: name,
      links: this.#links,
      topology: this.#topology,
      mandatory,
      effects: systemEffects,
    });
  }

  publish(messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    return this.#publisher.publish(messages);
  }

  async consume(request: ConsumeRequest): Promise<Consumption> {
    const { competing } = this.#parts;
    const link = await this.#links.open();
    const parts = {
      link,
      request,
      topology: this.#topology,
      prefetch: this.#prefetch,
      lock: competing?.lock,
      effects: systemEffects,
    };
    // It never cancels: a queue would then go to the next consumer while this one still has messages in its hand. It cuts its
    // connection, and the broker puts all of them back in their order first.
    const group = new PlaceGroup({
      link,
      request,
      places: this.#topology.queuesOf(request.group, request.types, request.isDead),
      nameOf: ({ queue }) => queue,
      readerOf: (queue, events) => new QueueConsumer({ ...parts, ...events, queue }),
      close: (consumers) => link.close(...consumers.flatMap(({ channel }) => channel ?? [])),
      effects: systemEffects,
    });
    await group.start();
    return group;
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }
}

function isAddress(one: unknown): boolean {
  return typeof one === 'string' ? /^amqps?:\/\//.test(one) : typeof one === 'object' && one !== null;
}
