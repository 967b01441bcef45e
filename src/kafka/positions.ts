import type { KafkaConsumer } from './kafka-library.ts';

/** Where a partition is read from, or committed to. */
export interface Position {
  readonly topic: string;
  readonly partition: number;
  readonly next: bigint;
}

const EARLIEST = -2n;
const LATEST = -1n;

/**
 * Where each partition that was given to a consumer is read from: at what its group has committed, or at its beginning when that is
 * nothing, or nothing that is there any more. By `topic/partition`.
 */
export async function findPositions(member: KafkaConsumer, fetcher: KafkaConsumer): Promise<Map<string, Position>> {
  const assigned = (member.assignments ?? []).filter(({ partitions }) => partitions.length > 0);
  if (assigned.length === 0) return new Map();
  const wanted = assigned.map(({ topic, partitions }) => ({ topic, partitions: [...partitions] }));
  const byTopic = {
    topics: wanted.map(({ topic }) => topic),
    partitions: Object.fromEntries(wanted.map(({ topic, partitions }) => [topic, partitions])),
  };
  const [committed, earliest, latest] = await Promise.all([
    member.listCommittedOffsets({ topics: wanted }),
    fetcher.listOffsets({ ...byTopic, timestamp: EARLIEST }),
    fetcher.listOffsets({ ...byTopic, timestamp: LATEST }),
  ]);
  const positions = new Map<string, Position>();
  for (const { topic, partitions } of wanted) {
    for (const partition of partitions) {
      const first = earliest.get(topic)?.[partition] ?? 0n;
      const last = latest.get(topic)?.[partition] ?? first;
      const kept = committed.get(topic)?.[partition] ?? -1n;
      positions.set(`${topic}/${partition}`, { topic, partition, next: kept >= first && kept <= last ? kept : first });
    }
  }
  return positions;
}
