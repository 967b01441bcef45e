import type { Result } from '../result/result.ts';
import type { Topic } from '../topic.ts';
import type { Bench } from './bench.ts';
import { findBenchServer } from './bench-database.ts';
import { backlog, history } from './measure-backlog.ts';
import { blockedKey, heldTransaction } from './measure-disturbed.ts';
import { bulkSend, drainEffect, drainEffects, drainNothing } from './measure-drain.ts';
import { singleSend, wakeUp } from './measure-send.ts';
import { keySkew } from './measure-skew.ts';
import { telemetry } from './measure-telemetry.ts';
import { workers } from './measure-workers.ts';

const MEASURES: Readonly<Record<string, (bench: Bench) => Promise<Result[]>>> = {
  drain: drainNothing,
  effect: drainEffect,
  effects: drainEffects,
  'bulk-send': bulkSend,
  send: singleSend,
  'wake-up': wakeUp,
  backlog,
  history,
  workers,
  'key-skew': keySkew,
  'held-transaction': heldTransaction,
  'blocked-key': blockedKey,
  telemetry,
};

/**
 * `npm run bench -- engine [measure …] [--quick] [--json]`: the engine as it comes against graphile-worker, pg-boss and
 * hand-written statements, all in one run on one server.
 */
export const ENGINE: Topic = {
  name: 'engine',
  title: 'The engine',
  measures: Object.keys(MEASURES),
  options: [],
  minutes: { full: 25, quick: 4 },
  packages: ['graphile-worker', 'pg-boss', 'pg'],
  async run({ measures, isQuick, say }) {
    const server = await findBenchServer();
    const results: Result[] = [];
    try {
      for (const name of measures.length > 0 ? measures : this.measures) {
        say(name);
        const database = await server.open();
        results.push(...((await MEASURES[name]?.({ database, isQuick, say })) ?? []));
        await database.close();
      }
    } finally {
      await server.close();
    }
    return { settings: server.settings, results };
  },
};
