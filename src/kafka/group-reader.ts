import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { BatchLimit } from '../transport/batch-limit.ts';
import type { ConsumeRequest, Consumption, InboundMessage } from '../transport/broker.ts';
import { within } from '../transport/within.ts';
import { committedRecords, nextOffset } from './committed-records.ts';
import { endClient, type FetchAnswer, type KafkaConsumer, SESSION_MS, type TopicMetadata } from './kafka-library.ts';
import { GroupTopics } from './group-topics.ts';
import { fromRecord, type InboundRecord } from './kafka-record.ts';
import type { GroupOffsets } from './group-offsets.ts';
import { findPositions, type Position } from './positions.ts';
import { isApiError, topicRefusal } from './refusal.ts';

/** What a reader works with. */
export interface GroupReaderOptions {
  readonly request: ConsumeRequest;
  readonly topics: readonly string[];
  readonly effects: Effects;
  /** What the group of `member` has committed. */
  readonly offsets: GroupOffsets;
  /** The ids that the topics had when they were last read, by their names. It outlives a reader. */
  readonly lastIds: Map<string, string>;
  /** How much is fetched at once. It outlives a reader: what was late makes the next one fetch less. */
  readonly limit: BatchLimit;
}

const AT_ONCE = 500;
const WAIT_MS = 500;
const MAX_BYTES_OF_PARTITION = 1_048_576;
const CLOSE_MS = 3_000;
const REST_MS = 5_000;
/** Twice as long as it takes to be taken for dead, because joining again may last that long. */
const SILENCE_MS = 2 * SESSION_MS;

/** A record, and the position to commit when it is stored. */
interface Found extends Position {
  readonly record: InboundRecord;
}

interface Fetched {
  readonly node: number;
  readonly found: readonly Found[];
  /** Where to read on, of partitions that held something, be it nothing for us. */
  readonly ends: readonly Position[];
}

/**
 * Reads topics for a group. While it stores a batch it fetches the next, and it commits what is stored. When partitions are given out
 * anew, it drops what it has fetched and begins again at what was committed: a message may come twice, and none is left out.
 */
export class GroupReader implements Consumption {
  readonly #member: KafkaConsumer;
  readonly #fetcher: KafkaConsumer;
  readonly #options: GroupReaderOptions;
  readonly #stopped = new AbortController();
  /** Ends the wait for what is fetched. */
  #interrupt: () => void = () => undefined;
  /** Counts how often partitions were given out. */
  #round = 0;
  /** When the group last heard of it. */
  #aliveAtMs = 0;
  readonly #topics: GroupTopics;
  #partitionCounts = new Map<string, number>();
  #running: Promise<void> | undefined;

  /**
   * `member` belongs to the group and commits, `fetcher` waits for records: a broker answers the requests of a connection one after
   * the other, and a sign of life may not stand behind one that waits. Both are closed with it.
   */
  constructor(member: KafkaConsumer, fetcher: KafkaConsumer, options: GroupReaderOptions) {
    this.#member = member;
    this.#fetcher = fetcher;
    this.#options = options;
    this.#topics = new GroupTopics(fetcher, options.topics, options.request.onPlace, options.effects);
  }

  /** Joins the group and begins to read. Rejects with `KAFKA_TOPIC_REFUSED` where all topics are missing or closed to it. */
  async start(): Promise<void> {
    this.#member.on('error', (error) => this.#lose(error));
    this.#fetcher.on('error', (error) => this.#lose(error));
    this.#member.on('consumer:group:join', () => this.#beginRound());
    this.#member.on('consumer:heartbeat:end', () => this.#noteAlive());
    await this.#topics.find();
    await this.#countPartitions();
    await this.#member.joinGroup({});
    this.#stopped.signal.throwIfAborted();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#halt();
    await this.#running;
    await this.#end();
  }

  #halt(): void {
    this.#stopped.abort();
    this.#interrupt();
  }

  async #end(): Promise<void> {
    const closed = (closing: Promise<void>): Promise<void> => within(this.#options.effects, closing, CLOSE_MS);
    await Promise.all([endClient(this.#member, closed), endClient(this.#fetcher, closed)]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    try {
      while (!signal.aborted) await this.#readRound(this.#round);
    } catch (error) {
      this.#lose(error);
    }
  }

  #lose(error: unknown): void {
    if (this.#stopped.signal.aborted) return;
    this.#halt();
    // Others of the group need not wait until it is taken for dead.
    void this.#end();
    this.#options.request.onLost(error);
  }

  #beginRound(): void {
    this.#noteAlive();
    this.#round += 1;
    this.#interrupt();
  }

  #noteAlive(): void {
    this.#aliveAtMs = this.#options.effects.now().wallMs;
  }

  #isOver(round: number): boolean {
    return round !== this.#round || this.#stopped.signal.aborted;
  }

  /** Reads until partitions are given out anew, or it stops. */
  async #readRound(round: number): Promise<void> {
    const positions = await this.#findPositions();
    const fetching = new Map<number, Promise<Fetched | undefined>>();
    while (!this.#isOver(round)) {
      if (!(await this.#fetchAll(positions, fetching))) break;
      const fetched = await this.#first([...fetching.values()], round);
      if (this.#isOver(round)) break;
      if (fetched) {
        fetching.delete(fetched.node);
        for (const end of fetched.ends) positions.set(`${end.topic}/${end.partition}`, end);
        // Where its topic was created again meanwhile, it is stored first: then reading begins with the new one.
        await this.#fetchAll(positions, fetching);
        await this.#hand(fetched, round);
      }
      this.#topics.lookAgain();
      if (await this.#hasOtherPartitions()) await this.#joinAgain();
    }
    for (const one of fetching.values()) one.catch(() => undefined);
  }

  /** Where to read from, and says of a topic that it is another one than it was. */
  async #findPositions(): Promise<Map<string, Position>> {
    const { effects, offsets, lastIds, request } = this.#options;
    const found = await within(effects, findPositions(this.#member.assignments, this.#fetcher, offsets));
    const recreated = new Set(found.recreated);
    for (const { topic, topicId } of found.positions.values()) {
      const lastId = lastIds.get(topic);
      if (lastId !== undefined && lastId !== topicId) recreated.add(topic);
      lastIds.set(topic, topicId);
    }
    for (const topic of recreated) {
      request.onPlace(topic, new HoldfastError('BROKER_PLACE_RECREATED', { place: topic }));
      request.onPlace(topic, undefined);
    }
    return found.positions;
  }

  /**
   * What the first of them gives; nothing when the round is over. Where nothing is fetched there are more consumers than partitions:
   * it looks from time to time whether that is still so. A promise that lives as long as the round is not waited for together with
   * them: it would keep every answer as long.
   */
  async #first(fetches: readonly Promise<Fetched | undefined>[], round: number): Promise<Fetched | undefined> {
    const { effects } = this.#options;
    const first = Promise.withResolvers<Fetched | undefined>();
    const giveNothing = (): void => first.resolve(undefined);
    this.#interrupt = giveNothing;
    if (this.#isOver(round)) return undefined;
    for (const fetch of fetches) fetch.then(first.resolve, first.reject);
    const timer = fetches.length === 0 ? effects.setTimer(giveNothing, REST_MS) : undefined;
    try {
      return await first.promise;
    } finally {
      this.#interrupt = () => undefined;
      effects.clearTimer(timer);
    }
  }

  /**
   * Asks each broker that is not asked yet for what its partitions hold. False: a topic was deleted and created again. Nothing more is read
   * at positions in the old one, and the next round begins.
   */
  async #fetchAll(
    positions: ReadonlyMap<string, Position>,
    fetching: Map<number, Promise<Fetched | undefined>>,
  ): Promise<boolean> {
    const { topics } = await within(this.#options.effects, this.#fetcher.metadata({ topics: this.#topics.there }));
    const isOther = ({ topic, topicId }: Position): boolean => (topics.get(topic)?.id ?? topicId) !== topicId;
    if ([...positions.values()].some(isOther)) return false;
    const byNode = new Map<number, Position[]>();
    for (const position of positions.values()) {
      if (!this.#topics.isOpen(position.topic)) continue;
      const node = topics.get(position.topic)?.partitions[position.partition]?.leader ?? -1;
      byNode.set(node, [...(byNode.get(node) ?? []), position]);
    }
    for (const [node, wanted] of byNode) {
      if (!fetching.has(node)) fetching.set(node, this.#fetch(node, wanted, topics));
    }
    for (const one of fetching.values()) one.catch(() => undefined);
    return true;
  }

  async #fetch(
    node: number,
    wanted: readonly Position[],
    topics: ReadonlyMap<string, TopicMetadata>,
  ): Promise<Fetched | undefined> {
    const { effects, limit } = this.#options;
    const byTopic = Map.groupBy(wanted, ({ topic }) => topic);
    const request = [...byTopic].map(([topic, ofTopic]) => ({
      topicId: topics.get(topic)?.id ?? '',
      partitions: ofTopic.map(({ partition, next }) => ({
        partition,
        fetchOffset: next,
        currentLeaderEpoch: -1 as const,
        lastFetchedEpoch: -1 as const,
        partitionMaxBytes: Math.min(MAX_BYTES_OF_PARTITION, limit.bytes),
      })),
    }));
    const limits = { maxWaitTime: WAIT_MS, minBytes: 1, maxBytes: limit.bytes, isolationLevel: 1 } as const;
    try {
      const fetch = (): Promise<FetchAnswer> =>
        within(effects, this.#fetcher.fetch({ node, ...limits, topics: request }));
      const answer = await limit.carry(fetch);
      this.#topics.noteFetched(byTopic.keys());
      return foundIn(node, answer, wanted, topics);
    } catch (error) {
      if (this.#topics.close(error, namesOf(topics))) return { node, found: [], ends: [] };
      if (!isApiError(error, 'OFFSET_OUT_OF_RANGE')) throw topicRefusal(error, [...byTopic.keys()].join(', ')) ?? error;
      // What stood there is gone. Reading begins where there is something.
      this.#beginRound();
      return undefined;
    }
  }

  /** Lets one part be stored after the other, and commits each when it is; the next is stored meanwhile. */
  async #hand({ found, ends }: Fetched, round: number): Promise<void> {
    // At most one is on its way, so that they arrive in their order: a group never goes back to what was committed before.
    let committed: Promise<void> = Promise.resolve();
    for (let at = 0; at < found.length; at += AT_ONCE) {
      if (this.#isOver(round)) return committed;
      const part = found.slice(at, at + AT_ONCE);
      await this.#options.request.onBatch(part.map(messageOf));
      const isLast = at + AT_ONCE >= found.length;
      // Given out anew meanwhile: whoever has the partitions now reads the same again, and commits it.
      if (round !== this.#round) return committed;
      await committed;
      committed = this.#commit(isLast ? ends : part);
      // It is waited for, and its failure told, behind the next part.
      committed.catch(() => undefined);
    }
    await committed;
    if (found.length === 0 && ends.length > 0) await this.#commit(ends);
  }

  async #commit(stored: readonly Position[]): Promise<void> {
    // A process that stood still was taken for dead, and others have read on. The client would join again and set the group back to
    // where this one stood: after days, to messages whose ids are forgotten. So it begins anew.
    const silentMs = this.#options.effects.now().wallMs - this.#aliveAtMs;
    if (silentMs > SILENCE_MS) throw new HoldfastError('BROKER_TIMEOUT', { timeoutMs: SILENCE_MS });
    // Within a partition they are in order: the last one counts.
    const byPartition = new Map(stored.map((one) => [`${one.topic}/${one.partition}`, one]));
    await within(this.#options.effects, this.#options.offsets.commit([...byPartition.values()]));
  }

  async #countPartitions(): Promise<void> {
    const { topics } = await this.#fetcher.metadata({ topics: this.#topics.there });
    this.#partitionCounts = new Map([...topics].map(([topic, { partitionsCount }]) => [topic, partitionsCount]));
    for (const topic of topics.keys()) {
      if (this.#member.topics.has(topic)) continue;
      this.#member.topics.track(topic);
      this.#fetcher.topics.track(topic);
    }
  }

  async #hasOtherPartitions(): Promise<boolean> {
    const { topics } = await within(this.#options.effects, this.#fetcher.metadata({ topics: this.#topics.there }));
    return [...topics].some(([topic, { partitionsCount }]) => partitionsCount !== this.#partitionCounts.get(topic));
  }

  /** Partitions were added to a topic, or a topic is there that was missing: the group gives them out when its leader joins again. */
  async #joinAgain(): Promise<void> {
    await within(this.#options.effects, this.#countPartitions());
    await within(this.#options.effects, this.#member.metadata({ topics: this.#topics.there, forceUpdate: true }));
    await within(this.#options.effects, this.#member.joinGroup({}));
  }
}

/** Read when it is its turn: a fetch may hold thousands, and everything else would wait until all are read. */
function messageOf({ topic, topicId, partition, next, record }: Found): InboundMessage {
  return { ...fromRecord(`kafka:${topic}@${partition}@${next - 1n}`, record), incarnation: topicId };
}

function foundIn(
  node: number,
  { responses }: FetchAnswer,
  wanted: readonly Position[],
  topics: ReadonlyMap<string, TopicMetadata>,
): Fetched {
  const names = namesOf(topics);
  const from = new Map(wanted.map((position) => [`${position.topic}/${position.partition}`, position]));
  const found: Found[] = [];
  const ends: Position[] = [];
  for (const { topicId, partitions } of responses) {
    const topic = names.get(topicId) ?? '';
    for (const fetched of partitions) {
      const partition = fetched.partitionIndex;
      const start = from.get(`${topic}/${partition}`);
      if (start === undefined) continue;
      for (const { offset, record } of committedRecords(fetched, start.next))
        found.push({ ...start, next: offset + 1n, record });
      const next = nextOffset(fetched, start.next);
      if (next > start.next) ends.push({ ...start, next });
    }
  }
  return { node, found, ends };
}

/** The names of topics by their ids. */
function namesOf(topics: ReadonlyMap<string, TopicMetadata>): ReadonlyMap<string, string> {
  return new Map([...topics].map(([topic, { id }]) => [id, topic]));
}
