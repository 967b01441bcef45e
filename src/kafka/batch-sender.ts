import { HoldfastError } from '../kernel/error.ts';
import type { OutboundMessage, PublishResult } from '../transport/broker.ts';
import { type OutboundRecord, sizeOf } from './kafka-record.ts';
import type { KafkaProducer, ProducedRecord, TopicMetadata } from './kafka-library.ts';
import { answersIn, type PartitionAnswer } from './refusal.ts';
import { metadataOf } from './topic-metadata.ts';

/** What a sender works with. */
export interface BatchSenderOptions {
  readonly producer: KafkaProducer;
  readonly topicOf: (message: OutboundMessage) => string;
  readonly partitionOf: (record: OutboundRecord, metadata: TopicMetadata) => number;
  /** Records of one partition go out together up to this size. */
  readonly maxBatchBytes: number;
}

interface Item {
  readonly place: number;
  readonly key: string | undefined;
  readonly record: OutboundRecord;
  /** The one before it in its key, where that goes to another partition because it is of another topic. */
  readonly after: Item | undefined;
}

/** The messages for one partition, in their order. */
interface Line {
  readonly topic: string;
  readonly partition: number;
  waiting: Item[];
  /** Fewer are sent at once while it is looked for the one that is refused. */
  atOnce: number;
}

/**
 * Sends one batch. The messages of a partition go out in their order, a part only after the one before it is confirmed. The broker
 * judges all records of a partition together; so what it refuses is sent again in halves until the message that is to blame stands
 * alone, and what follows it in its key is held back.
 */
export class BatchSender {
  readonly #options: BatchSenderOptions;
  readonly #results: PublishResult[] = [];
  readonly #lines = new Map<string, Line>();

  constructor(options: BatchSenderOptions) {
    this.#options = options;
  }

  /** `records` are the messages as Kafka carries them. Rejects when of one of them it cannot be told what became of it, and when `signal` is aborted. */
  async send(
    messages: readonly OutboundMessage[],
    records: readonly OutboundRecord[],
    signal: AbortSignal,
  ): Promise<readonly PublishResult[]> {
    await this.#lineUp(messages, records);
    for (;;) {
      signal.throwIfAborted();
      const parts = [...this.#lines.values()].flatMap((line) => {
        const part = this.#nextOf(line);
        return part.length > 0 ? [{ line, part }] : [];
      });
      if (parts.length === 0) return this.#results;
      await this.#sendParts(parts);
    }
  }

  async #lineUp(messages: readonly OutboundMessage[], records: readonly OutboundRecord[]): Promise<void> {
    const { producer, topicOf, partitionOf } = this.#options;
    const topics = messages.map(topicOf);
    const known = await metadataOf(producer, [...new Set(topics)]);
    const last = new Map<string, { item: Item; name: string }>();
    const refused: (readonly [Item, HoldfastError])[] = [];
    for (const [place, message] of messages.entries()) {
      const { key } = message;
      const topic = topics[place] as string;
      const metadata = known.get(topic) as TopicMetadata | HoldfastError;
      const record = records[place] as OutboundRecord;
      const partition = metadata instanceof HoldfastError ? -1 : partitionOf(record, metadata);
      const name = `${topic}/${partition}`;
      const before = key === undefined ? undefined : last.get(key);
      const item = { place, key, record, after: before?.name === name ? undefined : before?.item };
      if (key !== undefined) last.set(key, { item, name });
      if (metadata instanceof HoldfastError) {
        refused.push([item, metadata]);
        continue;
      }
      const line = this.#lines.get(name) ?? { topic, partition, waiting: [], atOnce: Infinity };
      this.#lines.set(name, line);
      line.waiting.push(item);
    }
    for (const [item, error] of refused) this.#fail(item, error);
  }

  /** What may go out next: enough for one batch of records, and nothing whose key waits for another partition. */
  #nextOf({ waiting, atOnce }: Line): readonly Item[] {
    let size = 0;
    const end = waiting.findIndex(({ record, after }, at) => {
      size += sizeOf(record);
      if (after && !this.#results[after.place]) return true;
      return at > 0 && (at >= atOnce || size > this.#options.maxBatchBytes);
    });
    return waiting.slice(0, end < 0 ? waiting.length : end);
  }

  /** One request for each broker. */
  async #sendParts(parts: readonly { readonly line: Line; readonly part: readonly Item[] }[]): Promise<void> {
    const messages = parts.flatMap(({ line: { topic, partition }, part }) =>
      part.map(({ record }): ProducedRecord => ({ topic, partition, ...record })),
    );
    try {
      await this.#options.producer.send({ messages, acks: -1 });
      for (const { line, part } of parts) this.#settle(line, part, { kind: 'published' });
    } catch (error) {
      const answers = answersIn(error);
      const settled = parts.map(({ line, part }) => {
        const answer = answers.get(`${line.topic}/${line.partition}`);
        if (!answer) throw error;
        return { line, part, answer };
      });
      for (const { line, part, answer } of settled) this.#settle(line, part, answer);
    }
  }

  #settle(line: Line, part: readonly Item[], answer: PartitionAnswer): void {
    if (answer.kind === 'published') {
      for (const { place } of part) this.#results[place] = answer;
      line.waiting = line.waiting.slice(part.length);
      line.atOnce *= 2;
    } else if (answer.of === 'topic') {
      for (const item of line.waiting) this.#fail(item, answer.error);
    } else if (part.length > 1) {
      line.atOnce = Math.floor(part.length / 2);
    } else {
      for (const item of part) this.#fail(item, answer.error);
    }
  }

  /** With all that follow it in its key. */
  #fail(failed: Item, error: HoldfastError): void {
    const isBehind = (item: Item): boolean =>
      item === failed || (failed.key !== undefined && item.key === failed.key && item.place > failed.place);
    this.#results[failed.place] ??= { kind: 'failed', error };
    for (const line of this.#lines.values()) {
      for (const { place } of line.waiting.filter(isBehind)) this.#results[place] = { kind: 'failed', error };
      line.waiting = line.waiting.filter((item) => !isBehind(item));
    }
  }
}
