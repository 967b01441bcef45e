import { type RunningServer, startPrivate } from '../../test/support/private-server.ts';
import { SERVICES } from '../../test/support/services/index.ts';
import { findBenchServer } from '../engine/bench-database.ts';
import type { Result } from '../result/result.ts';
import type { Topic } from '../topic.ts';
import { kafkaSide } from './kafka-side.ts';
import { measureSide, type Size } from './measure-side.ts';
import { natsSide } from './nats-side.ts';
import { rabbitmqSide } from './rabbitmq-side.ts';
import { redisSide } from './redis-side.ts';

const SIDES = { redis: redisSide, rabbitmq: rabbitmqSide, kafka: kafkaSide, nats: natsSide } as const;
const NAMES = Object.keys(SIDES) as readonly (keyof typeof SIDES)[];
const FULL: Size = { count: 10_000, rounds: 5 };
const QUICK: Size = { count: 2_000, rounds: 1 };

/**
 * `npm run bench -- brokers [redis|rabbitmq|kafka|nats …] [--quick] [--json] [--count n] [--rounds n]`: what the relay and the consumer
 * reach over each broker, as they come, against the bare client doing the same work with hand-written statements, and against the
 * bare client without a database.
 */
export const BROKERS: Topic = {
  name: 'brokers',
  title: 'Brokers',
  measures: NAMES,
  options: ['count', 'rounds'],
  minutes: { full: 7, quick: 2 },
  packages: ['ioredis', 'amqplib', '@platformatic/kafka', '@nats-io/jetstream'],
  async run({ measures, isQuick, values, say }) {
    const usual = isQuick ? QUICK : FULL;
    const size = { count: Number(values['count'] ?? usual.count), rounds: Number(values['rounds'] ?? usual.rounds) };
    const server = await findBenchServer();
    const started: RunningServer[] = [];
    const start = async (one: Parameters<typeof startPrivate>[0]): Promise<void> =>
      void started.push(await startPrivate(one));
    const versions: Record<string, string> = {};
    const results: Result[] = [];
    try {
      for (const name of measures.length > 0 ? (measures as typeof NAMES) : NAMES) {
        const side = await SIDES[name](await SERVICES[name].obtain({ env: process.env, announce: say, start }));
        const database = await server.open();
        say(`${side.title} ${side.version ?? ''}`);
        if (side.version !== undefined) versions[side.title] = side.version;
        results.push(...(await measureSide({ name, side, database, size, say })));
        await side.close();
        await database.close();
      }
    } finally {
      for (const one of started) await one.stop();
      await server.close();
    }
    return { settings: { ...server.settings, ...versions, ...size }, results };
  },
};
