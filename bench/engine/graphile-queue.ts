import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { poolOn, type BenchDatabase } from './bench-database.ts';
import { drainHere, EFFECT_INSERT, inBulks, type Order, type SharedQueue } from './queue.ts';

const SCHEMA = 'graphile_worker';
const silent = new Logger(() => () => undefined);
/** As its documentation sets it up for speed: a local queue of 500, completions in batches without delay. */
const FAST = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

const BY_KEY = { pollInterval: 20 };
const NAMED = 8;

/** graphile-worker at its fastest. */
export function graphileQueue(database: BenchDatabase): Promise<SharedQueue> {
  return open(database, { name: 'graphile-worker', isByKey: false });
}

/**
 * With the keys spread over named queues, each worked off one job after the other. A thousand of them, one for each key, are slower:
 * whoever looks for a job locks all that are free. Jobs are then fetched one by one, and looked for more often than every two seconds.
 */
export function graphileQueueByKey(database: BenchDatabase): Promise<SharedQueue> {
  return open(database, { name: `graphile-worker, ${NAMED} named queues`, isByKey: true });
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
      concurrency: isByKey ? NAMED : 24,
      preset: { worker: isByKey ? BY_KEY : FAST },
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
    isByKey
      ? { identifier: 'order', payload, queueName: `q${hashOf(payload.orderId) % NAMED}` }
      : { identifier: 'order', payload };
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

function hashOf(key: string): number {
  let hash = 0;
  for (const char of key) hash = (hash * 31 + char.charCodeAt(0)) % 1_000_003;
  return hash;
}
