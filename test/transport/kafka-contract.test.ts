import { describe, expect } from 'vitest';
import { kafkaBroker } from '../../src/kafka/kafka-transport.ts';
import { transportContract } from '../../src/testing/index.ts';
import { createTopics } from '../support/kafka-server.ts';
import { needs } from '../support/needs.ts';

const TOPICS = ['order', 'order.dlq', 'invoice'];
const TOO_LARGE = 1_048_577;

describe('Kafka', () => {
  const test = needs('kafka');
  let prefixes = 0;
  for (const { name, run } of transportContract()) {
    test(`${name} [S0.8] [S1.5]`, async ({ kafka: { url, namespace } }) => {
      const prefix = `${namespace}-${(prefixes += 1)}-`;
      await createTopics(
        url,
        TOPICS.map((topic) => prefix + topic),
      );
      const open = (): ReturnType<typeof kafkaBroker> => kafkaBroker({ brokers: [url], prefix });
      await expect(run({ open, tooLarge: TOO_LARGE })).resolves.toBeUndefined();
    });
  }
});
