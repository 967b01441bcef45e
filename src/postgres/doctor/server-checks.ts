import { counted, formatDuration } from '../../operator/words.ts';
import { type CheckFinding, type DatabaseCheck, firstRow } from './finding.ts';

/** What the engine is proven on, and below which it cannot work: transaction ids of 64 bits came with 13. */
const TESTED_FROM = 15;
const WORKS_FROM = 13;

/** The server is new enough. */
export const serverVersion: DatabaseCheck = async ({ sql }) => {
  const { number = '0', text = '' } = await firstRow(
    sql,
    `select current_setting('server_version_num') as number, current_setting('server_version') as text`,
  );
  const major = Math.floor(Number(number) / 10_000);
  const found = `PostgreSQL ${text}`;
  if (major >= TESTED_FROM) return { check: 'server version', status: 'ok', found };
  const next = `upgrade to PostgreSQL ${TESTED_FROM} or newer, which this release is tested on`;
  return { check: 'server version', status: major < WORKS_FROM ? 'problem' : 'warning', found, next };
};

/** The server takes writes. */
export const writable: DatabaseCheck = async ({ sql }) => {
  const row = await firstRow(
    sql,
    `select pg_is_in_recovery()::text as replica, current_setting('default_transaction_read_only') as read_only`,
  );
  const check = 'writable';
  if (row['replica'] === 'true') {
    return { check, status: 'problem', found: 'this is a replica', next: 'name the primary with --url' };
  }
  if (row['read_only'] === 'on') {
    const next = 'set default_transaction_read_only to off for this user or database';
    return { check, status: 'problem', found: 'transactions are read-only by default', next };
  }
  return { check, status: 'ok', found: 'a primary that takes writes' };
};

/** What was committed stays, also after the power fails. */
export const durability: DatabaseCheck = async ({ sql }) => {
  const settings = await firstRow(
    sql,
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
      current_setting('full_page_writes') as full_page_writes`,
  );
  const found = Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
  const off = Object.entries(settings).flatMap(([name, value]) => (value === 'off' ? [name] : []));
  if (off.length === 0) return { check: 'durability', status: 'ok', found };
  const next = `turn ${off.join(' and ')} on: a message that was committed can be lost in a crash`;
  return { check: 'durability', status: 'problem', found, next };
};

/** Connections are left for workers. */
export const connections: DatabaseCheck = async ({ sql }) => {
  const row = await firstRow(
    sql,
    `select (select count(*) from pg_stat_activity where backend_type = 'client backend')::text as used,
      current_setting('max_connections') as most`,
  );
  const found = `${row['used'] ?? ''} of ${row['most'] ?? ''} in use`;
  if (Number(row['used']) <= Number(row['most']) * 0.9) return { check: 'connections', status: 'ok', found };
  return { check: 'connections', status: 'warning', found, next: 'raise max_connections, or make pools smaller' };
};

interface StuckSession {
  readonly pid: string;
  readonly name: string;
  readonly ms: number;
}

/** Nobody holds a transaction open and does nothing: that keeps vacuum from its work and locks from others. */
export const idleInTransaction: DatabaseCheck = async ({ sql, stuckMs }) => {
  const check = 'idle in transaction';
  const rows = await sql.query(
    `select pid::text as pid, coalesce(nullif(application_name, ''), usename, '?') as name,
        (extract(epoch from clock_timestamp() - state_change) * 1000)::bigint::text as ms
      from pg_stat_activity
      where state like 'idle in transaction%' and pid <> pg_backend_pid()
        and clock_timestamp() - state_change >= $1::text::float8 * interval '1 millisecond'
      order by state_change`,
    [stuckMs],
  );
  const prepared = await sql.query(
    `select gid as gid from pg_prepared_xacts
      where clock_timestamp() - prepared >= $1::text::float8 * interval '1 millisecond'`,
    [stuckMs],
  );
  const sessions = rows.map((row): StuckSession => ({
    pid: String(row['pid']),
    name: String(row['name']),
    ms: Number(row['ms']),
  }));
  const findings = sessions.map(({ pid, name, ms }): CheckFinding => ({
    check,
    status: 'problem',
    found: `session ${pid} (${name}) has idled in a transaction for ${formatDuration(ms)}`,
    next: `find out why it does not commit, or end it: select pg_terminate_backend(${pid})`,
  }));
  for (const { gid } of prepared) {
    const name = String(gid);
    const found = `the prepared transaction ${name} was never ended`;
    findings.push({
      check,
      status: 'problem',
      found,
      next: `commit prepared '${name}' or rollback prepared '${name}'`,
    });
  }
  if (findings.length > 0) return findings;
  return { check, status: 'ok', found: await visibleSessions(sql) };
};

async function visibleSessions(sql: Parameters<typeof firstRow>[0]): Promise<string> {
  const row = await firstRow(
    sql,
    `select pg_has_role('pg_read_all_stats', 'usage')::text as sees_all,
      (select count(*) from pg_stat_activity where backend_type = 'client backend')::text as sessions`,
  );
  if (row['sees_all'] !== 'true') return 'none among the sessions of this user; grant pg_read_all_stats to see all';
  return `none of ${counted(Number(row['sessions']), 'session')}`;
}
