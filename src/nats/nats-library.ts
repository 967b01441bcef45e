/**
 * The client libraries, as `import * as` gives them: `{ ...transport, ...jetstream }` of `@nats-io/transport-node` and
 * `@nats-io/jetstream`. Handed in where an application has its own copies; otherwise they are imported when they are first needed.
 */
export interface NatsLibrary {
  connect(options: never): Promise<unknown>;
  headers(): unknown;
  jetstream(connection: never, options: never): unknown;
  jetstreamManager(connection: never, options: never): Promise<unknown>;
}

/** Headers of a message. */
export interface NatsHeaders extends Iterable<readonly [name: string, values: readonly string[]]> {
  append(name: string, value: string): void;
}

/** A connection. Those parts that are used, so that no type of ours needs the library to be there. */
export interface NatsConnection {
  readonly info?: { readonly max_payload: number } | undefined;
  /** Resolves when it has ended, with the reason if there is one. */
  closed(): Promise<unknown>;
  isClosed(): boolean;
  flush(): Promise<unknown>;
  close(): Promise<unknown>;
}

/** How a stream was made. Times are nanoseconds. */
export interface StreamConfig {
  readonly name: string;
  readonly subjects?: readonly string[] | undefined;
  readonly storage: string;
  readonly retention: string;
  readonly discard: string;
  readonly discard_new_per_subject?: boolean | undefined;
  readonly max_age: number;
  readonly max_msgs: number;
  readonly max_bytes: number;
  readonly max_msgs_per_subject: number;
  readonly duplicate_window: number;
  readonly num_replicas: number;
  readonly no_ack?: boolean | undefined;
  readonly sealed?: boolean | undefined;
  readonly mirror?: object | undefined;
}

/** How a consumer was made. Times are nanoseconds. */
export interface ConsumerConfig {
  readonly deliver_subject?: string | undefined;
  readonly ack_policy: string;
  readonly ack_wait?: number | undefined;
  readonly max_deliver?: number | undefined;
  readonly max_ack_pending?: number | undefined;
  readonly filter_subject?: string | undefined;
  readonly filter_subjects?: readonly string[] | undefined;
  readonly headers_only?: boolean | undefined;
  readonly mem_storage?: boolean | undefined;
  readonly inactive_threshold?: number | undefined;
}

/** Where a consumer stands. */
export interface ConsumerState {
  readonly config: ConsumerConfig;
  readonly delivered: { readonly consumer_seq: number };
  readonly ack_floor: { readonly stream_seq: number };
  readonly num_ack_pending: number;
}

export interface StreamState {
  readonly config: StreamConfig;
  readonly state: { readonly first_seq: number };
}

/** Makes streams and consumers, and tells about them. */
export interface JetStreamManager {
  readonly streams: {
    info(stream: string): Promise<StreamState>;
    add(config: object): Promise<StreamState>;
    purge(stream: string, options: { seq: number }): Promise<unknown>;
    deleteMessage(stream: string, seq: number, erase: boolean): Promise<unknown>;
    getMessage(stream: string, query: { seq: number; next_by_subj: string }): Promise<StoredMessage | null>;
  };
  readonly consumers: {
    info(stream: string, consumer: string): Promise<ConsumerState>;
    add(stream: string, config: object): Promise<ConsumerState>;
    list(stream: string): AsyncIterable<ConsumerState>;
  };
}

interface StoredMessage {
  readonly seq: number;
  readonly time: Date;
}

/** A message as it is handed over. */
export interface JetStreamMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: NatsHeaders | undefined;
  readonly timestampNanos: bigint;
  readonly info: { readonly stream: string; readonly streamSequence: number; readonly deliverySequence: number };
  ack(): void;
  /** Resolves when the server has heard it. */
  ackAck(options: { timeout: number }): Promise<unknown>;
  nak(): void;
  working(): void;
}

/** Messages that are asked for again and again. */
interface PullOptions {
  readonly max_messages: number;
  readonly expires: number;
  readonly abort_on_missing_resource: true;
  readonly callback: (message: JetStreamMessage) => void;
}

export interface Pulling {
  /** Where messages arrive. Drained, it takes what is on its way and then ends. Not in the library's types. */
  readonly sub?: { drain?(): Promise<unknown> } | undefined;
  close(): Promise<unknown>;
  /** Resolves when nothing more comes, with the reason if there is one. */
  closed(): Promise<unknown>;
}

/** Publishes and reads. */
export interface JetStreamClient {
  publish(
    subject: string,
    body: Uint8Array,
    options: {
      readonly msgID?: string;
      readonly headers?: NatsHeaders;
      readonly timeout: number;
      readonly expect: { readonly streamName?: string; readonly lastSubjectSequence?: number };
    },
  ): Promise<{ readonly seq: number }>;
  readonly consumers: {
    get(stream: string, consumer: string): Promise<{ consume(options: PullOptions): Promise<Pulling> }>;
  };
}

/** The library, by what is used of it. */
export interface LoadedLibrary {
  connect(options: object): Promise<NatsConnection>;
  headers(): NatsHeaders;
  jetstream(connection: NatsConnection, options: object): JetStreamClient;
  jetstreamManager(connection: NatsConnection, options: object): Promise<JetStreamManager>;
}

/** The library that was handed in, or the one that is installed beside the application. */
export async function loadLibrary(given: NatsLibrary | undefined): Promise<LoadedLibrary> {
  if (given) return given as unknown as LoadedLibrary;
  const [transport, jetstream] = await Promise.all([import('@nats-io/transport-node'), import('@nats-io/jetstream')]);
  return { ...transport, ...jetstream } as unknown as LoadedLibrary;
}

/** The numbers by which JetStream says what is wrong. */
export const JETSTREAM: {
  readonly STREAM_MISSING: number;
  readonly CONSUMER_MISSING: number;
  readonly NAME_IN_USE: number;
  readonly WRONG_SEQUENCE: number;
} = { STREAM_MISSING: 10_059, CONSUMER_MISSING: 10_014, NAME_IN_USE: 10_058, WRONG_SEQUENCE: 10_071 };

/** The number JetStream gave an error; nothing: it is about something else. */
export function codeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'number' ? code : undefined;
}
