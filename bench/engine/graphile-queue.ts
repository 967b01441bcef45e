import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { poolOn, type BenchDatabase } from './bench-database.ts';
import { drainHere, EFFECT_INSERT, inBulks, type Order, type SharedQueue } from './queue.ts';

const SCHEMA = 'graphile_worker';
const silent = new Logger(() => () => undefined);
/** As its documentation sets it up for speed: a local queue of 500, completions in batches without delay. */
const FAST = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

/** graphile-worker at its fastest. */
export function graphileQueue(database: BenchDatabase): Promise<SharedQueue> {
  return open(database, { name: 'graphile-worker', isByKey: false });
}

/** With a named queue for each key: one after the other within it. Jobs are then fetched one by one, as named queues want it. */
export function graphileQueueByKey(database: BenchDatabase): Promise<SharedQueue> {
  return open(database, { name: 'graphile-worker, a named queue for each key', isByKey: true });
}

async function open(
  database: BenchDatabase,
  { name, isByKey }: { readonly name: string; readonly isByKey: boolean },
): Promise<SharedQueue> {
  const pool = poolOn(database.url, 30);
  const utils = await makeWorkerUtils({ pgPool: pool, schema: SCHEMA, logger: silent });
  await utils.migrate();
  const isEmpty = async (): Promise<boolean> => {
    const { rows } = await database.admin.query(`select 1 from ${SCHEMA}._private_jobs limit 1`);
    return rows.length === 0;
  };
  const handle: SharedQueue['handle'] = (work, onStart) =>
    run({
      pgPool: pool,
      schema: SCHEMA,
      logger: silent,
      noHandleSignals: true,
      concurrency: 24,
      preset: { worker: isByKey ? {} : FAST },
      taskList: {
        order: async (payload) => {
          const order = payload as Order;
          onStart(order);
          // It hands out jobs one by one: there is no batch to make one insert of.
          if (work !== 'nothing') await pool.query(EFFECT_INSERT, [order.orderId, order.total]);
        },
      },
    });
  const jobOf = (payload: Order) =>
    isByKey ? { identifier: 'order', payload, queueName: payload.orderId } : { identifier: 'order', payload };
  return {
    name,
    role: 'peer',
    fill: (count, _work, keyOf) => inBulks(count, (bulk) => utils.addJobs(bulk.map(jobOf)), keyOf),
    handle,
    isEmpty,
    drain: (count, work, onStart) => drainHere({ handle, isEmpty }, count, work, onStart),
    async clear() {
      await pool.query(`truncate ${SCHEMA}._private_jobs`);
    },
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}
