import type { SnapshotHolder, SystemRecord, TableHealth, WorkerRecord } from '../../operator/system-record.ts';
import { examineDatabase } from '../doctor/all-checks.ts';
import { STUCK_MS } from '../doctor/finding.ts';
import { MIGRATIONS } from '../migrations.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** A snapshot that is younger holds up nothing. */
const OLD_SNAPSHOT_MS = 1_000;

/** Processes, tables and what is wrong with them. `version`: of this package. */
export async function readSystem(sql: SqlRunner, schema: string, version: string): Promise<SystemRecord> {
  const [row] = await sql.query(`select row from ${schema}.system_facts() row`);
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
