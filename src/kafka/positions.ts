import type { GroupOffsets } from './group-offsets.ts';
import type { Assignment, KafkaConsumer } from './kafka-library.ts';

/** Where a partition is read from, or committed to. */
export interface Position {
  readonly topic: string;
  /** A topic that is deleted and created again has another id: a position counts for one of them only. */
  readonly topicId: string;
  readonly partition: number;
  readonly next: bigint;
}

/** Where partitions are read from, by `topic/partition`, and the topics whose commits belong to a topic that was deleted. */
export interface FoundPositions {
  readonly positions: Map<string, Position>;
  readonly recreated: ReadonlySet<string>;
}

const EARLIEST = -2n;
const LATEST = -1n;

/**
 * Where each partition that was given to a consumer is read from: at what its group has committed for this very topic, or at its
 * beginning when that is nothing, or nothing that is there any more.
 */
export async function findPositions(
  assignments: readonly Assignment[] | null,
  fetcher: KafkaConsumer,
  offsets: GroupOffsets,
): Promise<FoundPositions> {
  const wanted = (assignments ?? [])
    .filter(({ partitions }) => partitions.length > 0)
    .map(({ topic, partitions }) => ({ topic, partitions: [...partitions] }));
  const positions = new Map<string, Position>();
  const recreated = new Set<string>();
  if (wanted.length === 0) return { positions, recreated };
  const names = wanted.map(({ topic }) => topic);
  // The ids come first: where a topic is created again in between, the position has the id of the old one, which nothing can be fetched by.
  const { topics } = await fetcher.metadata({ topics: [...names], forceUpdate: true });
  const byTopic = {
    topics: names,
    partitions: Object.fromEntries(wanted.map(({ topic, partitions }) => [topic, partitions])),
  };
  const [committed, earliest, latest] = await Promise.all([
    offsets.committed(wanted),
    fetcher.listOffsets({ ...byTopic, timestamp: EARLIEST }),
    fetcher.listOffsets({ ...byTopic, timestamp: LATEST }),
  ]);
  for (const { topic, partitions } of wanted) {
    const topicId = topics.get(topic)?.id ?? '';
    for (const partition of partitions) {
      const first = earliest.get(topic)?.[partition] ?? 0n;
      const last = latest.get(topic)?.[partition] ?? first;
      const kept = committed.get(`${topic}/${partition}`);
      const isOfOther = kept?.topicId !== undefined && kept.topicId !== topicId;
      if (isOfOther) recreated.add(topic);
      const next = kept && !isOfOther && kept.next >= first && kept.next <= last ? kept.next : first;
      positions.set(`${topic}/${partition}`, { topic, topicId, partition, next });
    }
  }
  return { positions, recreated };
}
