import type { SnapshotHolder, SystemRecord, TableHealth, WorkerRecord } from '../../operator/system-record.ts';
import { examineDatabase } from '../doctor/all-checks.ts';
import { STUCK_MS } from '../doctor/finding.ts';
import { MIGRATIONS } from '../migrations.ts';
import { HOUSE_UNIT } from '../../relay/relay-store.ts';
import { HISTORY_SLOTS } from '../schema/messages.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** So many runs of a worker are told. */
const MOST_RUNS = 100;
/** A snapshot that is younger holds up nothing. */
const OLD_SNAPSHOT_MS = 1_000;

/** Processes, tables and what is wrong with them. `version`: of this package. */
export async function readSystem(sql: SqlRunner, schema: string, version: string): Promise<SystemRecord> {
  const [row] = await sql.query(systemStatement(schema));
  const fields = readJson(row, 'row') as Fields & {
    readonly schemaVersion: number;
    readonly workers: readonly Fields[];
    readonly tables: readonly Fields[];
  };
  const { schemaVersion, workers, tables, ...rest } = fields;
  const name = schema.slice(1, -1);
  const findings = await examineDatabase({ sql, schema: name, stuckMs: STUCK_MS });
  return {
    ...readRecord<Pick<SystemRecord, 'at' | 'server' | 'isPaused' | 'historySince'>>(rest, ['at', 'historySince']),
    version,
    schema: { name, version: schemaVersion, expected: MIGRATIONS.at(-1)?.version ?? 0 },
    workers: workers.map(toWorker),
    tables: tables.map((table) => readRecord<TableHealth>(table, ['vacuumedAt'])),
    oldestSnapshot: await oldestSnapshot(sql),
    findings: findings.flatMap(({ check, status, found, next }) =>
      status === 'skipped' ? [] : [{ level: status, title: `${check}: ${found}`, advice: next }],
    ),
  };
}

function toWorker(fields: Fields): WorkerRecord {
  const worker = readRecord<WorkerRecord>(fields, ['joinedAt', 'expiresAt']);
  const running = worker.running.map((run) => ({ ...run, startedAt: new Date(run.startedAt) }));
  return { ...worker, running };
}

function systemStatement(schema: string): string {
  const runs = `select json_build_object('messageId', r.id, 'handler', h.service || '/' || h.name, 'attempt', r.attempt,
        'startedAt', r.started_at) as row, r.started_at
      from ${schema}.running r join ${schema}.lane l on l.id = r.unit / m.units join ${schema}.handler h on h.id = l.handler
      where r.worker = w.id order by r.started_at limit ${MOST_RUNS}`;
  const slots = Array.from(
    { length: HISTORY_SLOTS },
    (_, slot) => `(select d.done_at from ${schema}.delivered_${slot} d order by d.id limit 1)`,
  );
  return `select json_build_object('at', clock_timestamp(), 'server', current_setting('server_version'), 'isPaused', m.is_paused,
      'schemaVersion', (select max(version) from ${schema}.migration),
      'historySince', (select min(s.done_at) from (${slots.join(' union all ')}) s),
      'workers', coalesce((select json_agg(json_build_object('id', w.id, 'name', w.name, 'service', w.service,
          'generation', w.generation, 'joinedAt', w.joined_at, 'expiresAt', w.expires_at,
          'units', (select count(*) from ${schema}.lease l where l.owner = w.id and l.unit <> ${HOUSE_UNIT}),
          'isHousekeeper', exists (select from ${schema}.lease l where l.owner = w.id and l.unit = ${HOUSE_UNIT}),
          'running', coalesce((select json_agg(r.row order by r.started_at) from (${runs}) r), '[]')) order by w.service, w.name)
        from ${schema}.worker w where w.expires_at > clock_timestamp()), '[]'),
      'tables', coalesce((${tablesStatement(schema)}), '[]'))::text as row
    from ${schema}.meta m`;
}

/** The slots of the history are one table. */
function tablesStatement(schema: string): string {
  return `select json_agg(json_build_object('table', t.name, 'rows', t.rows, 'deadRows', t.dead, 'bytes', t.bytes,
        'indexBytes', t.index_bytes, 'vacuumedAt', t.vacuumed_at) order by t.bytes + t.index_bytes desc, t.name)
      from (select coalesce(p.relname, c.relname) as name, sum(pg_stat_get_live_tuples(c.oid)) as rows,
          sum(pg_stat_get_dead_tuples(c.oid)) as dead, sum(pg_table_size(c.oid)) as bytes, sum(pg_indexes_size(c.oid)) as index_bytes,
          max(greatest(pg_stat_get_last_vacuum_time(c.oid), pg_stat_get_last_autovacuum_time(c.oid))) as vacuumed_at
        from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
        where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r' group by 1) t`;
}

function msSince(time: string): string {
  return `floor(extract(epoch from clock_timestamp() - ${time}) * 1000)`;
}

/** Who keeps the database from cleaning up. This user may not see all sessions; then it is the oldest of those it sees. */
async function oldestSnapshot(sql: SqlRunner): Promise<SnapshotHolder | undefined> {
  const [row] = await sql.query(
    `select json_build_object('what', s.what, 'id', s.id, 'user', s.usr, 'application', nullif(s.application, ''),
        'state', s.state, 'ageMs', s.age_ms)::text as row
    from (
      select case when a.backend_type = 'walsender' then 'standby' else 'session' end as what, a.pid::text as id,
        a.usename::text as usr, a.application_name as application, a.state, ${msSince('coalesce(a.xact_start, a.query_start)')} as age_ms,
        age(a.backend_xmin) as xids
      from pg_stat_activity a where a.backend_xmin is not null and a.pid <> pg_backend_pid()
      union all
      select 'prepared-transaction', p.gid, p.owner::text, null, 'prepared', ${msSince('p.prepared')}, age(p.transaction)
      from pg_prepared_xacts p
      union all
      select 'replication-slot', r.slot_name::text, null, r.plugin::text, case when r.active then 'active' else 'inactive' end, null,
        greatest(age(r.xmin), age(r.catalog_xmin))
      from pg_replication_slots r where r.xmin is not null or r.catalog_xmin is not null) s
    where s.age_ms is null or s.age_ms >= ${OLD_SNAPSHOT_MS}
    order by s.xids desc, s.age_ms desc limit 1`,
  );
  if (row === undefined) return undefined;
  return readRecord<SnapshotHolder>(readJson(row, 'row') as Fields, []);
}
