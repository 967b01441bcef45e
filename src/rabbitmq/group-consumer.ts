import type { Effects } from '../kernel/effects.ts';
import { type HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { ConsumeRequest, Consumption } from '../transport/broker.ts';
import type { KeyLock } from '../transport/key-lock.ts';
import { within } from '../transport/within.ts';
import type { AmqpLink } from './amqp-link.ts';
import { QueueConsumer } from './queue-consumer.ts';
import type { QueueRequest, Topology } from './topology.ts';

/** What a consumer works with. */
export interface GroupConsumerOptions {
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

/** How often it is looked whether a queue can be read that could not. */
const LOOK_MS = 2_000;

/**
 * Reads the queues of a group by a connection of its own, each by a channel: what the broker refuses closes a channel, and the other
 * queues are read on. It never cancels: a queue would then go to the next consumer while this one still has messages in its hand. It
 * cuts its connection, and the broker puts all of them back in their order first.
 */
export class GroupConsumer implements Consumption {
  readonly #options: GroupConsumerOptions;
  readonly #reading = new Map<QueueRequest, QueueConsumer>();
  readonly #waiting = new Set<QueueRequest>();
  readonly #stopped = new AbortController();
  #turn: Promise<unknown> = Promise.resolve();
  #isLooking = false;
  #isStarted = false;

  constructor(options: GroupConsumerOptions) {
    this.#options = options;
  }

  /** Makes sure that the queues are there, and begins to read. Rejects when none can be read, and is then over. */
  async start(): Promise<void> {
    const { link, effects, queues } = this.#options;
    try {
      const refusals: (HoldfastError | undefined)[] = [];
      await within(
        effects,
        (async () => {
          for (const queue of queues) refusals.push(await this.#begin(queue));
        })(),
      );
      if (this.#reading.size === 0) throw refusals[0] ?? (await within(effects, link.ended));
      this.#isStarted = true;
      void link.ended.then((reason) => this.#lose(reason));
      this.#lookAgain();
    } catch (error) {
      this.#stopped.abort();
      await link.close();
      throw error;
    }
  }

  /** What is being stored is waited for, so that it need not come again. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    const { link, effects } = this.#options;
    const consumers = [...this.#reading.values()];
    await Promise.all(consumers.map((one) => within(effects, one.stop()).catch(() => undefined)));
    await link.close(...consumers.flatMap(({ channel }) => channel ?? []));
  }

  /** Begins to read a queue. Answers why it cannot, where the broker refuses; rejects where the broker is away. */
  async #begin(queue: QueueRequest): Promise<HoldfastError | undefined> {
    const { request } = this.#options;
    const consumer = new QueueConsumer({
      ...this.#options,
      queue,
      onBatch: (batch) => this.#inTurn(batch),
      onLost: (reason) => this.#loseQueue(queue, reason),
    });
    try {
      await consumer.start();
    } catch (error) {
      if (!isHoldfastError(error, 'BROKER_REFUSED')) throw error;
      this.#waiting.add(queue);
      if (this.#options.queues.length > 1) request.onPlace(queue.queue, error);
      return error;
    }
    this.#waiting.delete(queue);
    this.#reading.set(queue, consumer);
    request.onPlace(queue.queue, undefined);
    return undefined;
  }

  /** A batch is stored only after the one before it, whichever queue it is of. */
  #inTurn(batch: Parameters<ConsumeRequest['onBatch']>[0]): Promise<void> {
    const stored = this.#turn.then(() => this.#options.request.onBatch(batch));
    this.#turn = stored.catch(() => undefined);
    return stored;
  }

  #loseQueue(queue: QueueRequest, reason: unknown): void {
    // A channel that ends without a reason ends with its connection, which has one.
    if (this.#stopped.signal.aborted || this.#options.link.isEnded || reason === undefined) return;
    this.#reading.delete(queue);
    if (this.#reading.size === 0) return void this.#lose(reason);
    this.#waiting.add(queue);
    this.#options.request.onPlace(queue.queue, reason);
    this.#lookAgain();
  }

  #lookAgain(): void {
    if (this.#isLooking || this.#waiting.size === 0 || !this.#isStarted) return;
    this.#isLooking = true;
    const end = (): void => void (this.#isLooking = false);
    void this.#look().then(end, (error: unknown) => {
      end();
      void this.#lose(error);
    });
  }

  async #look(): Promise<void> {
    const { signal } = this.#stopped;
    const sleep = createSleep(this.#options.effects);
    while (this.#waiting.size > 0) {
      await sleep(LOOK_MS, signal).catch(() => undefined);
      for (const queue of this.#waiting) {
        if (signal.aborted) return;
        await within(this.#options.effects, this.#begin(queue));
      }
    }
  }

  /** Before it has started, that is told by `start`; once it was stopped, nobody asks any more. */
  async #lose(reason: unknown): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    await this.#options.link.close();
    if (this.#isStarted) this.#options.request.onLost(reason);
  }
}
