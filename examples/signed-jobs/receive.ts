import { idempotency } from 'holdfast/idempotency';
import { postgresIdempotency } from 'holdfast/postgres';
import { qstash, signedJobs, type Receive } from 'holdfast/webhooks';
import { Pool, type PoolClient } from 'pg';

/** The application's database; what the jobs do and what is remembered of them are committed in it together. */
export const pool: Pool = new Pool({ connectionString: process.env['DATABASE_URL'] });
pool.on('error', (error) => console.error(`A connection to the database was lost: ${error.message}`));

const logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (fields: object, message: string) => console.warn(`${message} ${JSON.stringify(fields)}`),
  error: (fields: object, message: string) => console.error(`${message} ${JSON.stringify(fields)}`),
};

/** Makes a route of a job: `export const POST = receive(…)`. One for the whole application. */
export const receive: Receive<PoolClient> = signedJobs({
  idempotency: idempotency({ service: 'signed-jobs', store: postgresIdempotency({ pool }) }),
  scheme: qstash({
    currentKey: process.env['QSTASH_CURRENT_SIGNING_KEY'] ?? '',
    nextKey: process.env['QSTASH_NEXT_SIGNING_KEY'] ?? '',
  }),
  logger,
});
