import { type RunningServer, startPrivate } from '../../test/support/private-server.ts';
import { SERVICES } from '../../test/support/services/index.ts';
import { findBenchServer } from '../engine/bench-database.ts';
import { redisVersion } from '../redis-version.ts';
import type { Result } from '../result/result.ts';
import type { Topic } from '../topic.ts';
import { bullmqSide } from './bullmq-side.ts';
import { type Child, startChild } from './child-process.ts';
import { holdfastSide } from './holdfast-side.ts';
import { drain, publishUnderLoad, scheduled } from './measure-delivery.ts';

const MEASURES = { drain, publish: publishUnderLoad, scheduled } as const;
const NAMES = Object.keys(MEASURES) as readonly (keyof typeof MEASURES)[];
const FULL = { count: 20_000, rounds: 3, scheduled: 1_000_000 };
const QUICK = { count: 1_000, rounds: 1, scheduled: 5_000 };
const DESTINATIONS = 8;

/**
 * `npm run bench -- delivery [drain|publish|scheduled …] [--quick] [--json] [--concurrency n] [--count n] [--rounds n]`: deliveries a
 * second of our server to a sink beside it, against a worker of BullMQ that calls `fetch`, with the same retries and as many at once;
 * how long publishing takes meanwhile; what a million scheduled messages cost.
 */
export const DELIVERY: Topic = {
  name: 'delivery',
  title: 'Deliveries',
  measures: NAMES,
  options: ['concurrency', 'count', 'rounds', 'scheduled'],
  minutes: { full: 8, quick: 2 },
  packages: ['bullmq', 'ioredis'],
  async run({ measures, isQuick, values, say }) {
    const usual = isQuick ? QUICK : FULL;
    const size = {
      count: Number(values['count'] ?? usual.count),
      rounds: Number(values['rounds'] ?? usual.rounds),
      scheduled: Number(values['scheduled'] ?? usual.scheduled),
      concurrency: Number(values['concurrency'] ?? 64),
    };
    const started: RunningServer[] = [];
    const start = async (one: Parameters<typeof startPrivate>[0]): Promise<void> =>
      void started.push(await startPrivate(one));
    const server = await findBenchServer();
    const results: Result[] = [];
    let sink: Child<readonly number[]> | undefined;
    try {
      const redisUrl = await SERVICES.redis.obtain({ env: process.env, announce: say, start });
      const redis = await redisVersion(redisUrl);
      sink = await startChild<readonly number[]>('sink-process.ts', [String(DESTINATIONS)]);
      for (const name of measures.length > 0 ? (measures as typeof NAMES) : NAMES) {
        say(name);
        const ours = async (): ReturnType<typeof holdfastSide> => holdfastSide(await server.open());
        const theirs = (): ReturnType<typeof bullmqSide> => bullmqSide(redisUrl);
        results.push(...(await MEASURES[name]({ ours, theirs, sink, size, say })));
      }
      return { settings: { ...server.settings, Redis: redis, ...size }, results };
    } finally {
      await sink?.stop();
      for (const one of started) await one.stop();
      await server.close();
    }
  },
};
