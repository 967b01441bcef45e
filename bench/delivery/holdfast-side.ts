import { Client } from '@upstash/qstash';
import { startDeliveries } from 'holdfast/delivery';
import { migrate, postgres, postgresDelivery } from 'holdfast/postgres';
import type { BenchDatabase } from '../engine/bench-database.ts';
import { poolOn, settleDown } from '../engine/bench-database.ts';
import { cpuMsOf, startChild } from './child-process.ts';
import { BACKOFF_MS, type Contestant, type Job, RETRIES } from './contestant.ts';

const SECRET = 'of the bench, which has nothing to hide';
const BULK = 1_000;

/** Our delivery server on a database of its own. */
export async function holdfastSide(database: BenchDatabase): Promise<Contestant> {
  const pool = poolOn(database.url, 10);
  const connection = await pool.connect();
  await migrate(connection).finally(() => connection.release());
  const deliveries = postgresDelivery({ pool, secret: SECRET });
  const { token } = await deliveries.tokens.create('bench', ['publish']);
  await deliveries.signingKeys.get();
  // So that the handler is known, and messages that are stored before a server runs are its own.
  const { sender } = postgresDelivery({ pool, secret: SECRET });
  await (await startDeliveries({ store: postgres({ pool }), sender })).stop();
  const rules = { method: 'POST', retries: RETRIES, retryDelay: `${BACKOFF_MS} * pow(2, retried)` } as const;
  const headers = { 'Content-Type': ['application/json'] };
  return {
    name: 'holdfast',
    fill: async (jobs, delayMs) => {
      const notBefore = delayMs === undefined ? undefined : new Date(Date.now() + delayMs);
      for (let at = 0; at < jobs.length; at += BULK) {
        await deliveries.publishing.publish(
          jobs.slice(at, at + BULK).map(({ url, body }) => ({
            to: { kind: 'url', url },
            delivery: { ...rules, headers, body },
            notBefore,
          })),
        );
      }
      await settleDown(database);
    },
    start: async (concurrency) => {
      // Half of its places are for the first of a line alone, so with twice as many it has as many on their way to a destination.
      const places = String(2 * concurrency);
      const child = await startChild<number>('holdfast-process.ts', [database.url, SECRET, places]);
      const client = new Client({ baseUrl: `http://127.0.0.1:${child.first}`, token, retry: false });
      return {
        publish: {
          'HTTP, to the server that delivers': async ({ url, body }: Job) => {
            await client.publish({ url, body, retries: RETRIES, headers: { 'content-type': 'application/json' } });
          },
          'a call of the library': async ({ url, body }: Job) => {
            await deliveries.publishing.publish([{ to: { kind: 'url', url }, delivery: { ...rules, headers, body } }]);
          },
        },
        cpuMs: () => cpuMsOf(child),
        stop: () => child.stop(),
      };
    },
    isDrained: async () => {
      const open = 'select from holdfast.delivery where state = 0 or (state = 1 and due_at <= now()) limit 1';
      return (await database.admin.query(open)).rows.length === 0;
    },
    close: () => pool.end(),
  };
}
