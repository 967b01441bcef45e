import type { Effects } from '../kernel/effects.ts';
import type { ConsumeRequest, InboundMessage } from '../transport/broker.ts';
import type { KeyLock } from '../transport/key-lock.ts';
import type { PlaceEvents, PlaceReader } from '../transport/place-group.ts';
import type { AmqpChannel, AmqpMessage } from './amqp-client.ts';
import type { AmqpLink } from './amqp-link.ts';
import { inboundOf } from './amqp-message.ts';
import { BindingWatch } from './binding-watch.ts';
import type { PrefetchLimit } from './prefetch-limit.ts';
import type { QueueRequest, Topology } from './topology.ts';

/** What a consumer of one queue works with. */
export interface QueueConsumerOptions extends PlaceEvents {
  readonly link: AmqpLink;
  readonly topology: Topology;
  readonly queue: QueueRequest;
  readonly request: Pick<ConsumeRequest, 'group'>;
  readonly prefetch: PrefetchLimit;
  readonly lock: KeyLock | undefined;
  readonly effects: Effects;
}

const AT_ONCE = 500;

/** Reads one queue by a channel of its own. What has arrived is handed over, a batch after the other, and acknowledged when it is stored. */
export class QueueConsumer implements PlaceReader {
  readonly #options: QueueConsumerOptions;
  readonly #arrived: AmqpMessage[] = [];
  #channel: AmqpChannel | undefined;
  #handing: Promise<void> | undefined;
  #isStarted = false;
  #isOver = false;
  #lost: Error | undefined;
  /** What has arrived and is not acknowledged. */
  readonly #held = { count: 0, bytes: 0 };
  readonly #watch: BindingWatch;

  constructor(options: QueueConsumerOptions) {
    this.#options = options;
    this.#watch = new BindingWatch(options);
  }

  get channel(): AmqpChannel | undefined {
    return this.#channel;
  }

  /** Makes sure that the queue is there, and begins to read. */
  async start(): Promise<void> {
    try {
      await this.#begin();
      // What came in one piece with the answer was heard first.
      if (this.#lost) throw this.#lost;
      this.#isStarted = true;
      void this.#watch.run();
    } catch (error) {
      this.#isOver = true;
      void this.#close();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#watch.stop();
    await this.#handing;
  }

  async #begin(): Promise<void> {
    const { link, topology, queue, prefetch } = this.#options;
    const channel = await link.connection.createChannel();
    this.#channel = channel;
    let reason: Error | undefined;
    // Without a listener it ends the process.
    channel.on('error', (error) => void (reason ??= error));
    channel.on('close', () => this.#lose(reason));
    await topology.declareQueue(channel, queue);
    await channel.prefetch(prefetch.of(queue.queue));
    const onMessage = (message: AmqpMessage | null): void => {
      if (message === null) this.#lose(new Error(`the queue "${queue.queue}" was taken away`));
      else this.#take(message);
    };
    try {
      await channel.consume(queue.queue, onMessage);
    } catch (error) {
      throw topology.refusal(`queue "${queue.queue}"`, error);
    }
  }

  #take(message: AmqpMessage): void {
    if (this.#isOver) return;
    this.#arrived.push(message);
    this.#held.count += 1;
    this.#held.bytes += message.content.length;
    const { prefetch, queue } = this.#options;
    const problem = prefetch.problemOf(queue.queue, this.#held);
    if (problem) return this.#lose(problem);
    // All that came in one piece is handed over at once.
    this.#handing ??= Promise.resolve().then(() => this.#handAll());
  }

  async #handAll(): Promise<void> {
    try {
      while (this.#arrived.length > 0 && !this.#isOver) await this.#hand(this.#arrived.splice(0, AT_ONCE));
    } catch (error) {
      this.#lose(error);
    } finally {
      this.#handing = undefined;
    }
  }

  async #hand(found: readonly AmqpMessage[]): Promise<void> {
    const { lock, onBatch, link } = this.#options;
    const batch = found.map(inboundOf);
    if (lock) await this.#store(batch, lock);
    else await onBatch(batch);
    const last = found.at(-1);
    // Tags are counted by the channel, so the last stands for all before it.
    if (last && !link.isEnded) this.#channel?.ack(last as never, true);
    this.#held.count -= found.length;
    for (const { content } of found) this.#held.bytes -= content.length;
  }

  async #store(batch: readonly InboundMessage[], lock: KeyLock): Promise<void> {
    const { request, onBatch } = this.#options;
    const keys = new Set(batch.flatMap(({ key }) => (key === undefined ? [] : [`${request.group}:${key}`])));
    const held = await lock.hold([...keys].sort());
    try {
      const fenced = batch.map((message) => {
        const fence = message.key === undefined ? undefined : held.fences.get(`${request.group}:${message.key}`);
        return fence === undefined ? message : { ...message, attributes: { ...message.attributes, fence } };
      });
      await onBatch(fenced);
    } finally {
      await held.release();
    }
  }

  #lose(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watch.stop();
    void this.#close();
    this.#lost = reason instanceof Error ? reason : new Error('the channel was closed', { cause: reason });
    // A channel that ends without a reason ends with its connection, which has one.
    if (this.#isStarted && reason !== undefined) this.#options.onLost(reason);
  }

  /** One that is closed already says so. */
  async #close(): Promise<void> {
    try {
      await this.#channel?.close();
    } catch {
      // It is closed.
    }
  }
}
