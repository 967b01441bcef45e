import type { QueueRecord, Queues } from '../../delivery/line-settings.ts';
import { type Fields, readJson, readRecord } from '../operator/read-record.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { audited, auditParams } from './audited.ts';
import { linesWaiting, lineWaiting } from './line-waiting.ts';
import { isTenants } from './tenant-sql.ts';

const RECORD = `'name', q.name, 'parallelism', q.parallelism, 'isPaused', q.is_paused, 'createdAt', q.created_at,
    'updatedAt', q.updated_at`;

/** Queues. `onChanged` is told the line. */
export function queues(sql: SqlRunner, schema: string, onChanged: (line: string) => Promise<void>): Queues {
  const queueGet = `select json_build_object(${RECORD}, 'lag', ${lineWaiting(schema, `'queue:' || q.name`)})::text as row
    from ${schema}.http_queue q where q.name = $1::text`;
  const queueList = `with waiting as materialized (${linesWaiting(schema, 'queue:')})
    select json_build_object(${RECORD}, 'lag', coalesce(w.n, 0))::text as row
    from ${schema}.http_queue q left join waiting w on w.line = 'queue:' || q.name where ${isTenants('q.name', 1)} order by q.name`;
  const queueUpsert = audited(
    schema,
    `insert into ${schema}.http_queue as q (name, parallelism, is_paused)
    values ($1::text, coalesce($2::text::int, 1), coalesce($3::text::boolean, false))
    on conflict (name) do update set parallelism = coalesce($2::text::int, q.parallelism),
      is_paused = coalesce($3::text::boolean, q.is_paused), updated_at = clock_timestamp(), tx = pg_current_xact_id()
    returning 1 as n`,
    4,
  );
  const queueDelete = audited(schema, `delete from ${schema}.http_queue where name = $1::text returning 1 as n`, 2);
  return {
    get: async (name) => {
      const [row] = await sql.query(queueGet, [name]);
      return row && toQueue(row);
    },
    list: async (tenant) => (await sql.query(queueList, [tenant ?? null])).map(toQueue),
    upsert: async (name, { parallelism, isPaused }, by) => {
      const entry = auditParams(by, 'change-queue', { queue: name, parallelism, isPaused });
      await sql.query(queueUpsert, [name, parallelism ?? null, isPaused ?? null, ...entry]);
      await onChanged(`queue:${name}`);
    },
    delete: async (name, by) => {
      const gone = await sql.query(queueDelete, [name, ...auditParams(by, 'delete-queue', { queue: name })]);
      await onChanged(`queue:${name}`);
      return gone.length > 0;
    },
  };
}

function toQueue(row: Record<string, unknown>): QueueRecord {
  return readRecord<QueueRecord>(readJson(row, 'row') as Fields, ['createdAt', 'updatedAt']);
}
