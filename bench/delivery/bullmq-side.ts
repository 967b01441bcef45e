import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { cpuMsOf, startChild } from './child-process.ts';
import { BACKOFF_MS, type Contestant, type Job, RETRIES } from './contestant.ts';

const BULK = 1_000;

/** A queue of BullMQ on a Redis, with jobs as they come but for their retries. */
export async function bullmqSide(url: string): Promise<Contestant> {
  const { hostname, port } = new URL(url);
  const name = `bench-${randomUUID()}`;
  const queue = new Queue<Job>(name, { connection: { host: hostname, port: Number(port) } });
  await queue.waitUntilReady();
  const opts = { attempts: RETRIES + 1, backoff: { type: 'exponential', delay: BACKOFF_MS } } as const;
  return {
    name: 'BullMQ',
    fill: async (jobs, delayMs) => {
      const delay = delayMs === undefined ? {} : { delay: delayMs };
      for (let at = 0; at < jobs.length; at += BULK) {
        const bulk = jobs.slice(at, at + BULK).map((data) => ({ name: 'deliver', data, opts: { ...opts, ...delay } }));
        await queue.addBulk(bulk);
      }
    },
    start: async (concurrency) => {
      const child = await startChild('bullmq-process.ts', [url, name, String(concurrency)]);
      return {
        publish: { 'queue.add': async (job) => void (await queue.add('deliver', job, opts)) },
        cpuMs: () => cpuMsOf(child),
        stop: () => child.stop(),
      };
    },
    isDrained: async () => {
      const { wait = 0, active = 0 } = await queue.getJobCounts('wait', 'active');
      return wait + active === 0;
    },
    close: async () => {
      await queue.obliterate({ force: true });
      await queue.close();
    },
  };
}
