import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { OutboundMessage } from '../transport/broker.ts';
import {
  codeOf,
  type ConsumerState,
  JETSTREAM,
  type JetStreamManager,
  type StreamConfig,
  type StreamState,
} from './nats-library.ts';
import { consumerProblem, streamProblem } from './place-problem.ts';
import { refusal } from './refusal.ts';

/** How streams and consumers are named and made. */
export interface TopologyOptions {
  readonly transport: string;
  readonly streamOf: (type: string) => string;
  readonly prefix: string;
  /** False: they are made by others, with these settings; here they are only used. */
  readonly declares: boolean;
  readonly replicas: number;
  readonly duplicateWindowMs: number;
  readonly keepMs: number;
  readonly effects: Effects;
}

/** A stream that is read, and the consumer it is read by. */
export interface PlaceRequest {
  readonly stream: string;
  readonly consumer: string;
}

const DEAD = '-dlq';
const NANOS = 1_000_000;
const MAX_ACK_PENDING = 1_000;
const ACK_WAIT_MS = 10_000;
/** How often what is in the hand is said to be worked on. */
export const WORKING_MS: number = 3_000;
/** How long one that is silent stays the reader of a stream. */
export const HOLD_MS: number = 10_000;
/**
 * How long what was deleted is left alone before it is made again. A server says that a stream is gone before it has removed its files: of
 * one that is made meanwhile it removes them too, then confirms what is published to it and hands over nothing.
 */
const REMOVAL_MS = 2_000;

/**
 * One stream for each topic, which keeps all that its consumers have still to read; one durable pull consumer in it for each group.
 * Made where they are missing, never changed and never taken away. What is there and cannot keep the promise is refused.
 */
export class Topology {
  readonly #options: TopologyOptions;
  /** Streams and consumers that were there. */
  readonly #seen = new Set<string>();

  constructor(options: TopologyOptions) {
    this.#options = options;
  }

  streamOf({ type, isDead }: Pick<OutboundMessage, 'type' | 'isDead'>): string {
    const { prefix, streamOf } = this.#options;
    return `${streamName(`${prefix}${streamOf(type)}`)}${isDead ? DEAD : ''}`;
  }

  /** The first token is the stream's name, so that the subjects of two streams never overlap. */
  subjectOf(message: Pick<OutboundMessage, 'type' | 'isDead'>): string {
    // A subject has no empty tokens.
    return `${this.streamOf(message)}.${message.type.replace(/\.(?=\.|$)/g, '%2E')}`;
  }

  /** The streams in which a group finds these types. */
  placesOf(group: string, types: readonly string[], isDead: boolean): readonly PlaceRequest[] {
    const streams = new Set(types.map((type) => this.streamOf({ type, isDead })));
    return [...streams].map((stream) => ({ stream, consumer: consumerName(group) }));
  }

  /** Where readers say that they live, and the subject of one place in it. */
  readersOf({ stream, consumer }: PlaceRequest): { readonly stream: string; readonly subject: string } {
    const readers = streamName(`${this.#options.prefix}holdfast-readers`);
    return { stream: readers, subject: `${readers}.${stream}.${consumer}` };
  }

  /** Makes sure of a stream that is published to, or read. */
  async declareStream(manager: JetStreamManager, name: string): Promise<void> {
    const { duplicateWindowMs, keepMs, replicas } = this.#options;
    const needs = { subject: `${name}.>`, duplicateWindowMs, keepMs, replicas };
    const config = {
      ...this.#kept(name),
      // Whatever limit an operator sets: what does not fit is refused, and not dropped from the head.
      discard: 'new',
      duplicate_window: duplicateWindowMs * NANOS,
    };
    await this.#declare(manager, config, (found) => streamProblem(found, needs));
  }

  /** Makes sure of the stream in which readers say that they live: what they said is gone by itself when they are silent. */
  async declareReaders(manager: JetStreamManager, place: PlaceRequest): Promise<void> {
    const { stream } = this.readersOf(place);
    const age = HOLD_MS * NANOS;
    const config = { ...this.#kept(stream), max_msgs_per_subject: 1, max_age: age, duplicate_window: age };
    await this.#declare(manager, config, (found) =>
      found.max_age === age && found.max_msgs_per_subject === 1 && found.storage === 'file'
        ? undefined
        : `it must have file storage, max_msgs_per_subject 1 and a max_age of ${HOLD_MS} ms; delete it so that it can be made anew`,
    );
  }

  /** Makes sure of the consumer of a group, from the first message on. */
  async declareConsumer(manager: JetStreamManager, { stream, consumer }: PlaceRequest): Promise<ConsumerState> {
    const place = `consumer "${consumer}" of stream "${stream}"`;
    const find = (): Promise<ConsumerState> => manager.consumers.info(stream, consumer);
    const make = (): Promise<ConsumerState> =>
      manager.consumers.add(stream, {
        durable_name: consumer,
        ack_policy: 'explicit',
        ack_wait: ACK_WAIT_MS * NANOS,
        deliver_policy: 'all',
        max_deliver: -1,
        max_ack_pending: MAX_ACK_PENDING,
      });
    const found = await this.#findOrMake(place, JETSTREAM.CONSUMER_MISSING, find, make);
    const problem = consumerProblem(found.config, WORKING_MS);
    if (problem !== undefined) throw this.#refused(place, problem);
    return found;
  }

  #kept(name: string): Pick<StreamConfig, 'name' | 'subjects' | 'storage' | 'retention' | 'num_replicas'> {
    const { replicas } = this.#options;
    return { name, subjects: [`${name}.>`], storage: 'file', retention: 'limits', num_replicas: replicas };
  }

  async #declare(
    manager: JetStreamManager,
    config: Pick<StreamConfig, 'name'>,
    problemOf: (found: StreamConfig) => string | undefined,
  ): Promise<void> {
    const place = `stream "${config.name}"`;
    const find = (): Promise<StreamState> => manager.streams.info(config.name);
    const make = (): Promise<StreamState> => manager.streams.add(config);
    const found = await this.#findOrMake(place, JETSTREAM.STREAM_MISSING, find, make);
    const problem = problemOf(found.config);
    if (problem !== undefined) throw this.#refused(place, problem);
  }

  async #findOrMake<T>(place: string, missing: number, find: () => Promise<T>, make: () => Promise<T>): Promise<T> {
    const { transport, declares, effects } = this.#options;
    const wasThere = this.#seen.has(place);
    this.#seen.add(place);
    try {
      return await find();
    } catch (error) {
      if (codeOf(error) !== missing) throw refusal(transport, place, error);
      if (!declares) throw this.#refused(place, 'it is not there; make it, or leave out declares: false', error);
    }
    if (wasThere) await createSleep(effects)(REMOVAL_MS);
    try {
      return await make();
    } catch (error) {
      // Another process has made it in between.
      if (codeOf(error) === JETSTREAM.NAME_IN_USE) return find();
      throw refusal(transport, place, error);
    }
  }

  #refused(place: string, problem: string, cause?: unknown): HoldfastError {
    return new HoldfastError('BROKER_REFUSED', { transport: this.#options.transport, place, problem }, { cause });
  }
}

/** What a name may not have becomes `-`. Streams that come to have one name are one: their subjects tell the types apart. */
export function streamName(topic: string): string {
  return topic.replace(/[.\s*>/\\]/g, '-');
}

/** Two groups never have one consumer: each would get a part of the messages. */
function consumerName(group: string): string {
  return group.replace(/[.\s*>/\\%]/gu, (character) =>
    encodeURIComponent(character).replaceAll('.', '%2E').replaceAll('*', '%2A'),
  );
}
