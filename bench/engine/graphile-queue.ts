import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { poolOn, type BenchDatabase } from './bench-database.ts';
import { EFFECT_INSERT, inBulks, StartCounter, untilTrue, type Order, type Queue } from './queue.ts';

const SCHEMA = 'graphile_worker';
const silent = new Logger(() => () => undefined);

/** graphile-worker as its documentation sets it up for speed: local queue of 500, completions in batches without delay. */
export async function graphileQueue(database: BenchDatabase): Promise<Queue> {
  const pool = poolOn(database.url, 30);
  const utils = await makeWorkerUtils({ pgPool: pool, schema: SCHEMA, logger: silent });
  await utils.migrate();
  const isEmpty = async (): Promise<boolean> => {
    const { rows } = await database.admin.query(`select 1 from ${SCHEMA}._private_jobs limit 1`);
    return rows.length === 0;
  };
  return {
    name: 'graphile-worker 0.18',
    fill: (count) => inBulks(count, (bulk) => utils.addJobs(bulk.map((payload) => ({ identifier: 'order', payload })))),
    async drain(count, work) {
      const starts = new StartCounter(count);
      const runner = await run({
        pgPool: pool,
        schema: SCHEMA,
        logger: silent,
        noHandleSignals: true,
        concurrency: 24,
        preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
        taskList: {
          order: async (payload) => {
            starts.count();
            const { orderId, total } = payload as Order;
            // It hands out jobs one by one: there is no batch to make one insert of.
            if (work !== 'nothing') await pool.query(EFFECT_INSERT, [orderId, total]);
          },
        },
      });
      await starts.all;
      const endedMs = await untilTrue(isEmpty);
      await runner.stop();
      return endedMs - starts.firstAtMs;
    },
    async clear() {
      await pool.query(`truncate ${SCHEMA}._private_jobs`);
    },
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}
