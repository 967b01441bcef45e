import type { HoldfastError } from '../kernel/error.ts';
import type { KafkaProducer, TopicMetadata } from './kafka-library.ts';
import { topicRefusal } from './refusal.ts';

/** What is known of each topic, or why it cannot be used. Rejects when the broker cannot be asked. */
export async function metadataOf(
  client: Pick<KafkaProducer, 'metadata'>,
  topics: readonly string[],
): Promise<ReadonlyMap<string, TopicMetadata | HoldfastError>> {
  try {
    return (await client.metadata({ topics: [...topics], retries: 1 })).topics;
  } catch (error) {
    const [topic = ''] = topics;
    const refusal = topicRefusal(error, topic);
    if (!refusal) throw error;
    if (topics.length === 1) return new Map([[topic, refusal]]);
  }
  // The answer names one of them at most.
  const each = await Promise.all(topics.map((topic) => metadataOf(client, [topic])));
  const all = new Map<string, TopicMetadata | HoldfastError>();
  for (const one of each) for (const [topic, known] of one) all.set(topic, known);
  return all;
}
