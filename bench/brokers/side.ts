import type { Transport } from 'holdfast';

/** How many messages every contestant publishes or stores at once, ours as it comes. */
export const BATCH = 500;
/** What all messages of this bench are. Their topic is `order`. */
export const TYPE = 'order.placed';
export const TOPIC = 'order';

/** A message as the contestants that are written by hand have it. */
export interface BareMessage {
  readonly id: string;
  readonly key: string;
  /** JSON. */
  readonly payload: string;
}

/** Publishes by the client alone. */
export interface BarePublisher {
  /** Resolves when the broker has confirmed all of them. */
  publish(messages: readonly BareMessage[]): Promise<void>;
  close(): Promise<void>;
}

/** One broker, with the ways to it. A prefix is a place of its own there: a stream, a topic or an exchange with its queue. */
export interface Side {
  /** As a heading. */
  readonly title: string;
  /** Of the server, where it tells. */
  readonly version: string | undefined;
  /** Makes the place, empty. */
  prepare(prefix: string): Promise<void>;
  /** Ours. */
  transport(prefix: string): Transport;
  publisher(prefix: string): Promise<BarePublisher>;
  /** Hands over batches one after the other, and acknowledges each, in one go, after it was taken. */
  consumer(
    prefix: string,
    onBatch: (batch: readonly BareMessage[]) => Promise<void>,
  ): Promise<{ stop(): Promise<void> }>;
  /** How many messages are in the place. */
  count(prefix: string): Promise<number>;
  drop(prefix: string): Promise<void>;
  close(): Promise<void>;
}

/** What a message says of itself: the attributes of CloudEvents that ours carry too. */
export function attributesOf({ id, key }: BareMessage): Readonly<Record<string, string>> {
  return {
    specversion: '1.0',
    id,
    source: 'bench',
    type: TYPE,
    time: new Date().toISOString(),
    partitionkey: key,
  };
}

/** Hands what has come to `onBatch`, at most `BATCH` at a time and one batch after the other. Tells the first failure. */
export class Gatherer<Found> {
  readonly #found: Found[] = [];
  readonly #onBatch: (batch: readonly Found[]) => Promise<void>;
  #handing: Promise<void> | undefined;
  #isStopped = false;

  constructor(onBatch: (batch: readonly Found[]) => Promise<void>) {
    this.#onBatch = onBatch;
  }

  push(found: Found): void {
    this.#found.push(found);
    // All that came in one piece is handed over at once.
    this.#handing ??= Promise.resolve().then(() => this.#handAll());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#handing;
  }

  async #handAll(): Promise<void> {
    while (this.#found.length > 0 && !this.#isStopped) await this.#onBatch(this.#found.splice(0, BATCH));
    this.#handing = undefined;
  }
}
