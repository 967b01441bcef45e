import { HoldfastError } from '../kernel/error.ts';
import type { OutboundMessage } from '../transport/broker.ts';
import { DEAD_SERVICE } from '../transport/cloud-event.ts';
import { retryDelayOf } from '../transport/retry-delay.ts';
import type { AmqpChannel } from './amqp-client.ts';

/** How exchanges and queues are named and made. */
export interface TopologyOptions {
  readonly transport: string;
  readonly topicOf: (type: string) => string;
  readonly prefix: string;
  /** False: they are made by others, with these settings; here they are only used. */
  readonly declares: boolean;
  /** Several consumers have a queue at once. */
  readonly isCompeting: boolean;
  /** How long copies of dead letters wait for their next try, by round. */
  readonly retryDelaysMs: readonly number[];
}

/** Where a message is published to. */
export interface Place {
  readonly exchange: string;
  readonly routingKey: string;
  readonly isDead: boolean;
  /** It is a queue, in which a copy of a dead letter waits, and then comes back to the queue it came from. */
  readonly waiting?: { readonly delayMs: number; readonly backTo: string } | undefined;
}

/** A queue that is read, and what it is bound to. */
export interface QueueRequest {
  readonly queue: string;
  readonly exchange: string;
  readonly types: readonly string[];
  readonly isDead: boolean;
}

const DEAD = '.dlq';
// From RabbitMQ 4 on a message is taken out after 20 deliveries unless the queue says otherwise. This is a number that is not reached, and
// that every version takes.
const DELIVERY_LIMIT = 1_000_000_000;
const QUORUM = { 'x-queue-type': 'quorum', 'x-delivery-limit': DELIVERY_LIMIT };
const ONE_READER = { 'x-single-active-consumer': true };
// Whatever limit an operator sets: what does not fit is refused, and not dropped from the head.
const NOTHING_LOST = { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' };
const REFUSALS = new Set([403, 404, 405, 406]);

/**
 * One durable topic exchange for each topic, one quorum queue for each group and topic. Always declared with the same settings, and
 * never taken away.
 */
export class Topology {
  readonly #options: TopologyOptions;

  constructor(options: TopologyOptions) {
    this.#options = options;
  }

  placeOf(message: OutboundMessage): Place {
    const { type, isDead, headers } = message;
    const { prefix, topicOf, retryDelaysMs } = this.#options;
    const delayMs = retryDelayOf(message, retryDelaysMs);
    if (delayMs === undefined)
      return { exchange: `${prefix}${topicOf(type)}${isDead ? DEAD : ''}`, routingKey: type, isDead };
    const backTo = `${prefix}${headers[DEAD_SERVICE] ?? ''}.${topicOf(type)}`;
    // Named by its delay: other delays are other queues, and what waits in the old ones comes back all the same.
    return { exchange: '', routingKey: `${backTo}.retry.${delayMs}`, isDead, waiting: { delayMs, backTo } };
  }

  /** The queues in which a group finds these types. Dead letters have one queue for all: what is taken from there is taken. */
  queuesOf(group: string, types: readonly string[], isDead: boolean): readonly QueueRequest[] {
    const { prefix, topicOf } = this.#options;
    const byTopic = Map.groupBy(types, topicOf);
    return [...byTopic].map(([topic, ofTopic]) => {
      const exchange = `${prefix}${topic}${isDead ? DEAD : ''}`;
      return { queue: isDead ? exchange : `${prefix}${group}.${topic}`, exchange, types: ofTopic, isDead };
    });
  }

  /** What is published to must be there; the dead letters' queue too, because nobody may be listening yet. */
  async declarePlace(channel: AmqpChannel, { exchange, routingKey, isDead, waiting }: Place): Promise<void> {
    if (!waiting) return this.#declareExchange(channel, exchange, isDead);
    const settings = {
      ...QUORUM,
      ...NOTHING_LOST,
      'x-message-ttl': waiting.delayMs,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': waiting.backTo,
    };
    await this.#declareQueue(channel, routingKey, settings);
  }

  async #declareExchange(channel: AmqpChannel, exchange: string, isDead: boolean): Promise<void> {
    if (!this.#options.declares) return;
    await this.#made(`exchange "${exchange}"`, channel.assertExchange(exchange, 'topic', { durable: true }));
    if (!isDead) return;
    await this.#declareQueue(channel, exchange, { ...QUORUM, ...ONE_READER });
    await this.#made(`queue "${exchange}"`, channel.bindQueue(exchange, exchange, '#'));
  }

  /** False: exchanges and queues are made by others. */
  get declares(): boolean {
    return this.#options.declares;
  }

  /** Rejects with `BROKER_REFUSED` where the exchange is missing; the channel is closed then. */
  async checkExchange(channel: AmqpChannel, { exchange }: Pick<Place, 'exchange'>): Promise<void> {
    await this.#made(`exchange "${exchange}"`, channel.checkExchange(exchange));
  }

  async declareQueue(channel: AmqpChannel, { queue, exchange, types, isDead }: QueueRequest): Promise<void> {
    await this.#declareExchange(channel, exchange, isDead);
    if (!this.#options.declares || isDead) return;
    const dead = `${exchange}${DEAD}`;
    await this.#declareExchange(channel, dead, true);
    const settings = {
      ...QUORUM,
      ...(this.#options.isCompeting ? {} : ONE_READER),
      ...NOTHING_LOST,
      'x-dead-letter-exchange': dead,
    };
    await this.#declareQueue(channel, queue, settings);
    for (const type of types) await this.#made(`queue "${queue}"`, channel.bindQueue(queue, exchange, type));
  }

  async #declareQueue(channel: AmqpChannel, queue: string, settings: object): Promise<void> {
    if (!this.#options.declares) return;
    await this.#made(`queue "${queue}"`, channel.assertQueue(queue, { durable: true, arguments: settings }));
  }

  /** What the broker refused, if it is a refusal; otherwise the error as it is. */
  refusal(place: string, error: unknown): unknown {
    const { code, message } = error as { code?: unknown; message?: string };
    if (typeof code !== 'number' || !REFUSALS.has(code)) return error;
    const isOther = code === 406 && /inequivalent/.test(message ?? '');
    const advice = isOther
      ? '; it is there with other settings: empty and delete it so that it can be made anew, or set another prefix'
      : '';
    const problem = `${message ?? ''}${advice}`;
    return new HoldfastError(
      'BROKER_REFUSED',
      { transport: this.#options.transport, place, problem },
      { cause: error },
    );
  }

  async #made(place: string, work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      throw this.refusal(place, error);
    }
  }
}
