import type { Effects } from '../kernel/effects.ts';
import type { ConsumeRequest, Consumption, InboundMessage } from '../transport/broker.ts';
import type { KeyLock } from '../transport/key-lock.ts';
import { within } from '../transport/within.ts';
import type { AmqpChannel, AmqpMessage } from './amqp-client.ts';
import type { AmqpLink } from './amqp-link.ts';
import { inboundOf } from './amqp-message.ts';
import type { QueueRequest, Topology } from './topology.ts';

/** What a consumer works with. */
export interface QueueConsumerOptions {
  readonly link: AmqpLink;
  readonly topology: Topology;
  readonly queues: readonly QueueRequest[];
  readonly request: ConsumeRequest;
  /** How many messages of a queue are on their way or in the hand at most. */
  readonly prefetch: number;
  /** Held for the keys of a batch while it is stored. */
  readonly lock: KeyLock | undefined;
  readonly effects: Effects;
}

const AT_ONCE = 500;

/**
 * Reads queues by a connection of its own. What has arrived is handed over, a batch after the other, and acknowledged when it is stored.
 * It never cancels: a queue would then go to the next consumer while this one still has messages in its hand. It cuts its
 * connection, and the broker puts all of them back in their order first.
 */
export class QueueConsumer implements Consumption {
  readonly #options: QueueConsumerOptions;
  readonly #arrived: AmqpMessage[] = [];
  #channel: AmqpChannel | undefined;
  #handing: Promise<void> | undefined;
  #isStarted = false;
  #isOver = false;
  #reason: unknown;

  constructor(options: QueueConsumerOptions) {
    this.#options = options;
  }

  /** Makes sure that the queues are there, and begins to read. Rejects when it cannot, and is then over. */
  async start(): Promise<void> {
    const { link, effects } = this.#options;
    try {
      await within(effects, this.#begin());
      if (this.#isOver) throw this.#reason;
      this.#isStarted = true;
    } catch (error) {
      this.#isOver = true;
      await link.close();
      throw error;
    }
  }

  /** What is being stored is waited for, so that it need not come again. */
  async stop(): Promise<void> {
    this.#isOver = true;
    const { link, effects } = this.#options;
    if (this.#handing) await within(effects, this.#handing).catch(() => undefined);
    await link.close(this.#channel);
  }

  async #begin(): Promise<void> {
    const { link, topology, queues, prefetch } = this.#options;
    const channel = await link.connection.createChannel();
    this.#channel = channel;
    let reason: Error | undefined;
    // Without a listener it ends the process.
    channel.on('error', (error) => void (reason ??= error));
    channel.on('close', () => void this.#lose(reason));
    for (const queue of queues) await topology.declareQueue(channel, queue);
    await channel.prefetch(prefetch);
    for (const { queue } of queues) await this.#consume(channel, queue);
  }

  async #consume(channel: AmqpChannel, queue: string): Promise<void> {
    const onMessage = (message: AmqpMessage | null): void => {
      if (message === null) void this.#lose(new Error(`the queue "${queue}" was taken away`));
      else this.#take(message);
    };
    try {
      await channel.consume(queue, onMessage);
    } catch (error) {
      throw this.#options.topology.refusal(`queue "${queue}"`, error);
    }
  }

  #take(message: AmqpMessage): void {
    if (this.#isOver) return;
    this.#arrived.push(message);
    // All that came in one piece is handed over at once.
    this.#handing ??= Promise.resolve().then(() => this.#handAll());
  }

  async #handAll(): Promise<void> {
    try {
      while (this.#arrived.length > 0 && !this.#isOver) await this.#hand(this.#arrived.splice(0, AT_ONCE));
    } catch (error) {
      await this.#lose(error);
    } finally {
      this.#handing = undefined;
    }
  }

  async #hand(found: readonly AmqpMessage[]): Promise<void> {
    const { request, lock } = this.#options;
    const batch = found.map(inboundOf);
    if (lock) await this.#store(batch, lock);
    else await request.onBatch(batch);
    const last = found.at(-1);
    // Tags are counted by the channel over all its queues, so the last stands for all before it.
    if (last && !this.#options.link.isEnded) this.#channel?.ack(last as never, true);
  }

  async #store(batch: readonly InboundMessage[], lock: KeyLock): Promise<void> {
    const { request } = this.#options;
    const keys = new Set(batch.flatMap(({ key }) => (key === undefined ? [] : [`${request.group}:${key}`])));
    const held = await lock.hold([...keys].sort());
    try {
      const fenced = batch.map((message) => {
        const fence = message.key === undefined ? undefined : held.fences.get(`${request.group}:${message.key}`);
        return fence === undefined ? message : { ...message, attributes: { ...message.attributes, fence } };
      });
      await request.onBatch(fenced);
    } finally {
      await held.release();
    }
  }

  /** Before it has started, that is told by `start`; once it was stopped, nobody asks any more. */
  async #lose(reason: unknown): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const { link, request, effects } = this.#options;
    // A channel that ends without a reason ends with its connection, which has one.
    this.#reason = reason ?? (await within(effects, link.ended).catch((error: unknown) => error));
    await link.close();
    if (this.#isStarted) request.onLost(this.#reason);
  }
}
