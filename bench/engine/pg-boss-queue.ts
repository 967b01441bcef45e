import { PgBoss } from 'pg-boss';
import { poolOn, type BenchDatabase } from './bench-database.ts';
import { EFFECT_INSERT, effectLists, EFFECTS_INSERT, inBulks, type Order, type Queue } from './queue.ts';

const NAME = 'order';
const BATCH = 500;
/** Loops of fetch and complete side by side. More were not faster on two cores. */
const LOOPS = 2;

/** pg-boss at its fastest: jobs fetched and completed by hand in batches of 500, in a table of their own. */
export async function pgBossQueue(database: BenchDatabase): Promise<Queue> {
  const boss = new PgBoss({
    connectionString: database.url,
    schema: 'pgboss',
    supervise: false,
    schedule: false,
    max: 10,
  });
  boss.on('error', (error) => console.error(error.message));
  await boss.start();
  await boss.createQueue(NAME, { partition: true });
  const pool = poolOn(database.url, 24);
  const effects = (jobs: readonly { data: Order }[]): Promise<unknown> =>
    Promise.all(jobs.map(({ data }) => pool.query(EFFECT_INSERT, [data.orderId, data.total])));
  return {
    name: 'pg-boss 12.32',
    fill: (count) =>
      inBulks(count, (bulk) =>
        boss.insert(
          NAME,
          bulk.map((data) => ({ data })),
        ),
      ),
    async drain(count, work) {
      let firstMs = 0;
      let done = 0;
      const loop = async (): Promise<void> => {
        for (;;) {
          const jobs = await boss.fetch<Order>(NAME, { batchSize: BATCH });
          if (jobs.length === 0) return;
          if (firstMs === 0) firstMs = performance.now();
          if (work === 'effect') await effects(jobs);
          if (work === 'effects') await pool.query(EFFECTS_INSERT, effectLists(jobs.map(({ data }) => data)));
          await boss.complete(
            NAME,
            jobs.map(({ id }) => id),
          );
          done += jobs.length;
        }
      };
      await Promise.all(Array.from({ length: LOOPS }, loop));
      const endedMs = performance.now();
      if (done !== count) throw new Error(`pg-boss handled ${done} of ${count}`);
      return endedMs - firstMs;
    },
    clear: () => boss.deleteAllJobs(NAME),
    async close() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
}
