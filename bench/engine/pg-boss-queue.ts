import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PgBoss } from 'pg-boss';
import { poolOn, type BenchDatabase } from './bench-database.ts';
import {
  EFFECT_INSERT,
  effectLists,
  EFFECTS_INSERT,
  inBulks,
  type Order,
  type SharedQueue,
  type Work,
} from './queue.ts';

const BATCH = 500;
/** Loops of fetch and complete side by side. More were not faster on two cores. */
const LOOPS = 2;
/** How long a loop that found nothing waits, in a process that does not know how many there are. */
const IDLE_MS = 20;

/** pg-boss at its fastest: jobs fetched and completed by hand in batches of 500, in a table of their own. */
export function pgBossQueue(database: BenchDatabase): Promise<SharedQueue> {
  return open(database, { name: 'pg-boss', isByKey: false });
}

/** With the policy `key_strict_fifo`: at most one job of each key is on its way. */
export function pgBossQueueByKey(database: BenchDatabase): Promise<SharedQueue> {
  return open(database, { name: 'pg-boss, key_strict_fifo', isByKey: true });
}

async function open(
  database: BenchDatabase,
  { name, isByKey }: { readonly name: string; readonly isByKey: boolean },
): Promise<SharedQueue> {
  const boss = await startBoss(database);
  const queue = isByKey ? 'order-by-key' : 'order';
  await boss.createQueue(queue, isByKey ? { partition: true, policy: 'key_strict_fifo' } : { partition: true });
  const pool = poolOn(database.url, 24);
  const next = (work: Work, onStart: (order: Order) => void): Promise<number> =>
    handleBatch({ boss, pool, queue }, work, onStart);
  const jobOf = (data: Order) => (isByKey ? { data, singletonKey: data.orderId } : { data });
  return {
    name,
    role: 'peer',
    fill: (count, _work, keyOf) => inBulks(count, (bulk) => boss.insert(queue, bulk.map(jobOf)), keyOf),
    async handle(work, onStart) {
      let isStopped = false;
      const loop = async (): Promise<void> => {
        while (!isStopped) if ((await next(work, onStart)) === 0) await sleep(IDLE_MS);
      };
      const loops = Promise.all(Array.from({ length: LOOPS }, loop));
      return {
        stop() {
          isStopped = true;
          return loops;
        },
      };
    },
    async isEmpty() {
      const { rows } = await pool.query(`select 1 from pgboss.job where name = $1 and state < 'completed' limit 1`, [
        queue,
      ]);
      return rows.length === 0;
    },
    async drain(count, work, onStart) {
      let firstMs = 0;
      let done = 0;
      const started = (order: Order): void => {
        if (firstMs === 0) firstMs = performance.now();
        onStart?.(order);
      };
      // Where each key has one on its way, a loop may find nothing while the other has it all.
      const loop = async (): Promise<void> => {
        for (let found = 1; found > 0 || (isByKey && done < count); done += found) found = await next(work, started);
      };
      await Promise.all(Array.from({ length: LOOPS }, loop));
      const endedMs = performance.now();
      if (done !== count) throw new Error(`pg-boss handled ${done} of ${count}`);
      return endedMs - firstMs;
    },
    clear: () => boss.deleteAllJobs(queue),
    async close() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
}

async function startBoss({ url }: BenchDatabase): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, schema: 'pgboss', supervise: false, schedule: false, max: 10 });
  boss.on('error', (error) => console.error(error.message));
  await boss.start();
  return boss;
}

interface Opened {
  readonly boss: PgBoss;
  readonly pool: Pool;
  readonly queue: string;
}

/** One batch; tells how many there were. */
async function handleBatch(
  { boss, pool, queue }: Opened,
  work: Work,
  onStart: (order: Order) => void,
): Promise<number> {
  const jobs = await boss.fetch<Order>(queue, { batchSize: BATCH });
  if (jobs.length === 0) return 0;
  for (const { data } of jobs) onStart(data);
  if (work === 'effect')
    await Promise.all(jobs.map(({ data }) => pool.query(EFFECT_INSERT, [data.orderId, data.total])));
  if (work === 'effects') await pool.query(EFFECTS_INSERT, effectLists(jobs.map(({ data }) => data)));
  await boss.complete(
    queue,
    jobs.map(({ id }) => id),
  );
  return jobs.length;
}
