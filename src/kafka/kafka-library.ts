import { shareOut } from './share-out.ts';

/**
 * The client library, as `import * as library from '@platformatic/kafka'` gives it. Handed in where an application has its own
 * copy of it; otherwise it is imported when it is first needed.
 */
export interface KafkaLibrary {
  readonly Producer: new (...options: never[]) => object;
  readonly Consumer: new (...options: never[]) => object;
}

/** What is known of a topic. */
export interface TopicMetadata {
  readonly id: string;
  readonly partitionsCount: number;
  readonly partitions: readonly { readonly leader: number }[];
}

/** What all its clients have. Those parts that are used, so that no type of ours needs the library to be there. */
interface KafkaClient {
  metadata(options: {
    topics: string[];
    forceUpdate?: boolean;
    retries?: number;
  }): Promise<{ readonly topics: ReadonlyMap<string, TopicMetadata> }>;
  readonly connections: Iterable<readonly [string, { readonly socket?: { destroy(): void } | undefined }]>;
  close(force?: boolean): Promise<void>;
}

/** A record on its way to a partition. */
export interface ProducedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: Uint8Array | undefined;
  readonly value: Uint8Array;
  readonly headers: Map<Uint8Array, Uint8Array>;
}

export interface KafkaProducer extends KafkaClient {
  send(options: { messages: ProducedRecord[]; acks: -1 }): Promise<unknown>;
}

/** Records that were written together. */
export interface RecordsBatch {
  readonly firstOffset: bigint;
  readonly lastOffsetDelta: number;
  readonly attributes: number;
  readonly producerId: bigint;
  readonly records: readonly {
    readonly offsetDelta: number;
    readonly key: Uint8Array | null;
    readonly value: Uint8Array | null;
    readonly headers: readonly (readonly [Uint8Array | null, Uint8Array | null])[];
  }[];
}

export interface FetchedPartition {
  readonly partitionIndex: number;
  readonly abortedTransactions?:
    | readonly { readonly producerId: bigint; readonly firstOffset: bigint }[]
    | null
    | undefined;
  readonly records?: readonly RecordsBatch[] | null | undefined;
}

interface FetchRequest {
  node: number;
  maxWaitTime: number;
  minBytes: number;
  maxBytes: number;
  isolationLevel: 1;
  topics: {
    topicId: string;
    partitions: {
      partition: number;
      currentLeaderEpoch: -1;
      fetchOffset: bigint;
      lastFetchedEpoch: -1;
      partitionMaxBytes: number;
    }[];
  }[];
}

export interface FetchAnswer {
  readonly responses: readonly { readonly topicId: string; readonly partitions: readonly FetchedPartition[] }[];
}

/** Partitions of a topic. */
export interface Assignment {
  readonly topic: string;
  readonly partitions: readonly number[];
}

export interface KafkaConsumer extends KafkaClient {
  readonly assignments: readonly Assignment[] | null;
  readonly topics: { has(topic: string): boolean; track(topic: string): unknown };
  joinGroup(options: object): Promise<unknown>;
  fetch(options: FetchRequest): Promise<FetchAnswer>;
  readonly groupId: string;
  readonly generationId: number;
  readonly memberId: string | null;
  /** The number of the broker that keeps the offsets of the group. */
  findGroupCoordinator(): Promise<number>;
  /** Connections for requests of the protocol, by the number of the broker. */
  connectToBrokers(nodes: number[]): Promise<ReadonlyMap<number, unknown>>;
  listApis(): Promise<readonly { readonly name: string; readonly minVersion: number; readonly maxVersion: number }[]>;
  /** By topic, in the place of the partition. */
  listOffsets(options: {
    topics: string[];
    partitions: Record<string, number[]>;
    timestamp: bigint;
  }): Promise<ReadonlyMap<string, readonly (bigint | undefined)[]>>;
  on(event: 'consumer:group:join' | 'consumer:heartbeat:end' | 'error', listener: (of: unknown) => void): unknown;
}

/** Ways to make clients. */
export interface KafkaClients {
  load(): Promise<object>;
  producer(): Promise<KafkaProducer>;
  consumer(groupId: string): Promise<KafkaConsumer>;
}

// Each request. Joining a group may take as long as one that is gone is waited for.
const REQUEST_MS = 12_000;
/** How long a consumer that is silent keeps its partitions. */
export const SESSION_MS: number = 10_000;
const HEARTBEAT_MS = 1_000;
// For what passes in a moment: a leader that is elected, a coordinator that is loading. What lasts is tried again by whoever asked.
const RETRIES = 4;
const RETRY_MS = 200;

/** Makes clients as `settings` says, through the library handed in or the one that is installed. */
export function kafkaClients(settings: object, given: KafkaLibrary | undefined): KafkaClients {
  const library = async (): Promise<Made> => (given ?? (await import('@platformatic/kafka'))) as unknown as Made;
  const shared = { requestTimeout: REQUEST_MS, retries: RETRIES, retryDelay: RETRY_MS, ...settings };
  return {
    load: library,
    producer: async () => {
      const { Producer } = await library();
      return new Producer({ ...shared, idempotent: true });
    },
    consumer: async (groupId) => {
      const { Consumer } = await library();
      const group = { sessionTimeout: SESSION_MS, rebalanceTimeout: SESSION_MS, heartbeatInterval: HEARTBEAT_MS };
      return new Consumer({ ...shared, groupId, autocommit: false, ...group, partitionAssigner });
    },
  };
}

/** As the client calls it. */
function partitionAssigner(
  _own: string,
  members: Parameters<typeof shareOut>[0],
  _topics: unknown,
  { topics }: { readonly topics: Parameters<typeof shareOut>[1] },
): ReturnType<typeof shareOut> {
  return shareOut(members, topics);
}

interface Made {
  readonly Producer: new (options: object) => KafkaProducer;
  readonly Consumer: new (options: object) => KafkaConsumer;
}

/** Ends a client, and cuts what it has open: one that has fallen silent would keep its connections for as long as it waits. */
export async function endClient(client: KafkaClient, closed: (closing: Promise<void>) => Promise<void>): Promise<void> {
  const open = [...client.connections];
  await closed(client.close(true)).catch(() => undefined);
  for (const [, { socket }] of [...open, ...client.connections]) socket?.destroy();
}
