import type { KafkaConsumer } from './kafka-library.ts';
import type { Position } from './positions.ts';
import { isApiError } from './refusal.ts';

/** What a group has committed for a partition. */
interface Committed {
  readonly next: bigint;
  /** The id of the topic it was committed for. Nothing: the commit does not say, because another program made it. */
  readonly topicId: string | undefined;
}

/** Offsets that a group commits and finds again. */
export interface GroupOffsets {
  /** By `topic/partition`; a partition without a commit is left out. */
  committed(topics: readonly { topic: string; partitions: number[] }[]): Promise<ReadonlyMap<string, Committed>>;
  /** At most one position for each partition. Commits nothing where the group is giving out its partitions again. */
  commit(positions: readonly Position[]): Promise<void>;
}

const LABEL = 'topic-id:';
/** From this on all that is used is in the answer; newer versions name topics by their ids only. */
const COMMIT_VERSIONS = [9, 8, 7, 6, 5, 4, 3, 2] as const;
const FETCH_VERSIONS = [9, 8, 7, 6, 5, 4, 3, 2, 1] as const;

interface CommittedTopics {
  readonly topics: readonly {
    readonly name: string;
    readonly partitions: readonly {
      readonly partitionIndex: number;
      readonly committedOffset: bigint;
      readonly metadata: string | null;
    }[];
  }[];
}

interface Api {
  async(connection: unknown, ...args: readonly unknown[]): Promise<unknown>;
}

/**
 * The offsets of a member's group, each committed with the id of its topic as its metadata. Kafka knows offsets by the name of a topic: one
 * that is committed while the topic is deleted and created again would otherwise count for the new topic, and what lies before it
 * would never be read. The client's own `commit` has no room for metadata, so these are its requests of the protocol.
 */
export function groupOffsets(member: KafkaConsumer, library: object): GroupOffsets {
  let apis: Promise<ReadonlyMap<string, readonly [min: number, max: number]>> | undefined;
  const apiOf = async (name: string, versions: readonly number[]): Promise<Api> => {
    apis ??= member
      .listApis()
      .then((all) => new Map(all.map((api) => [api.name, [api.minVersion, api.maxVersion] as const])));
    const [min, max] = (await apis).get(name) ?? [0, -1];
    const exported = library as Readonly<Record<string, { readonly api: Api } | undefined>>;
    for (const version of versions) {
      const found = exported[`${name[0]?.toLowerCase()}${name.slice(1)}V${version}`]?.api;
      if (found && version >= min && version <= max) return found;
    }
    throw new TypeError(`the client library has no request ${name} that this broker takes`);
  };
  const coordinator = async (): Promise<unknown> => {
    const node = await member.findGroupCoordinator();
    return (await member.connectToBrokers([node])).get(node);
  };
  return {
    committed: async (topics) => {
      const api = await apiOf('OffsetFetch', FETCH_VERSIONS);
      const wanted = topics.map(({ topic, partitions }) => ({ name: topic, partitionIndexes: partitions }));
      const group = { groupId: member.groupId, memberId: member.memberId, memberEpoch: -1, topics: wanted };
      const answer = (await api.async(await coordinator(), [group], false)) as
        | CommittedTopics
        | { readonly groups: readonly CommittedTopics[] };
      return committedIn('groups' in answer ? answer.groups : [answer]);
    },
    commit: async (positions) => {
      const api = await apiOf('OffsetCommit', COMMIT_VERSIONS);
      const topics = [...Map.groupBy(positions, ({ topic }) => topic)].map(([name, ofTopic]) => ({
        name,
        partitions: ofTopic.map(({ partition, next, topicId }) => ({
          partitionIndex: partition,
          committedOffset: next,
          committedLeaderEpoch: -1,
          committedMetadata: LABEL + topicId,
        })),
      }));
      try {
        await api.async(await coordinator(), member.groupId, member.generationId, member.memberId, null, topics);
      } catch (error) {
        if (!isApiError(error, 'REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION')) throw error;
        // What was stored comes again, to the member that is given its partition.
        await member.joinGroup({});
      }
    },
  };
}

function committedIn(groups: readonly CommittedTopics[]): ReadonlyMap<string, Committed> {
  const found = new Map<string, Committed>();
  for (const { name, partitions } of groups.flatMap(({ topics }) => topics)) {
    for (const { partitionIndex, committedOffset, metadata } of partitions) {
      const topicId = metadata?.startsWith(LABEL) ? metadata.slice(LABEL.length) : undefined;
      if (committedOffset >= 0n) found.set(`${name}/${partitionIndex}`, { next: committedOffset, topicId });
    }
  }
  return found;
}
