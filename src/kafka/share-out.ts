import type { Assignment, TopicMetadata } from './kafka-library.ts';

/** What one member of a group is given. */
export interface Share {
  readonly memberId: string;
  readonly assignments: ReadonlyMap<string, Assignment>;
}

/**
 * Gives out the partitions of a group's topics: each to a member that takes its topic, to the one that has the fewest so far. Members
 * take different topics while a new version of a service is rolled out; the client's own way would give them to any.
 */
export function shareOut(
  members: ReadonlyMap<string, { readonly topics?: readonly string[] | undefined }>,
  topics: ReadonlyMap<string, Pick<TopicMetadata, 'partitionsCount'>>,
): readonly Share[] {
  const shares = [...members.keys()].toSorted().map((memberId) => ({
    memberId,
    size: 0,
    assignments: new Map<string, { topic: string; partitions: number[] }>(),
  }));
  for (const topic of [...topics.keys()].toSorted()) {
    const takers = shares.filter(({ memberId }) => members.get(memberId)?.topics?.includes(topic));
    for (let partition = 0; partition < (topics.get(topic)?.partitionsCount ?? 0); partition++) {
      const least = Math.min(...takers.map(({ size }) => size));
      const taker = takers.find(({ size }) => size === least);
      if (!taker) continue;
      const given = taker.assignments.get(topic) ?? { topic, partitions: [] };
      given.partitions.push(partition);
      taker.assignments.set(topic, given);
      taker.size += 1;
    }
  }
  return shares.map(({ memberId, assignments }) => ({ memberId, assignments }));
}
