import { parseVersion, versionStatement } from '../check-version.ts';
import { MIGRATIONS } from '../migrations.ts';
import { DEFAULT_SCHEMA } from '../schema-name.ts';
import { type CheckFinding, type DatabaseCheck, type Examination, firstRow } from './finding.ts';

/** Whether our tables are there, whatever this user may do with them. */
export async function hasSchema({ sql, schema: name }: Pick<Examination, 'sql' | 'schema'>): Promise<boolean> {
  const { there } = await firstRow(
    sql,
    `select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1::text and c.relname = 'migration')::text as there`,
    [name],
  );
  return there === 'true';
}

/** The schema fits this release. */
export const schemaVersion: DatabaseCheck = async (examination) => {
  const { schema: name, sql } = examination;
  const check = 'schema version';
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  const option = name === DEFAULT_SCHEMA ? '' : ` --schema ${name}`;
  const next = `run holdfast migrate${option}`;
  if (!(await hasSchema(examination))) {
    return { check, status: 'problem', found: `no schema "${name}", or none of ours`, next };
  }
  const row = await firstRow(sql, versionStatement(`"${name}"`));
  const { found: version, serves } = parseVersion(row['version']);
  const found = `"${name}" is at version ${version}`;
  if (version === newest) return { check, status: 'ok', found: `${found}, the newest` };
  if (version < newest) return { check, status: 'problem', found: `${found}, this release needs ${newest}`, next };
  if (serves <= newest) return { check, status: 'ok', found: `${found}, which serves this release (${newest}) too` };
  return {
    check,
    status: 'problem',
    found: `${found}, this release knows ${newest}`,
    next: 'install the newer release',
  };
};

/** No policy hides our rows from this user. */
export const rowSecurity: DatabaseCheck = async ({ schema: name, sql }) => {
  const rows = await sql.query(
    `select c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1::text and c.relkind in ('r', 'p') and row_security_active(c.oid) order by 1`,
    [name],
  );
  const check = 'row security';
  if (rows.length === 0) return { check, status: 'ok', found: 'hides nothing from this user' };
  const names = rows.map((row) => String(row['name']));
  const next = `alter table ${name}.${names[0] ?? ''} disable row level security, or use a role with bypassrls`;
  return { check, status: 'problem', found: `may hide rows of ${names.join(', ')}: messages would look lost`, next };
};

/** What a worker and an operator must be allowed: the history's slots are emptied by truncate. */
export const privileges: DatabaseCheck = async ({ schema: name, sql }) => {
  const rows = await sql.query(
    `select c.relname::text as name, case when c.relkind = 'S' then 'sequence' else 'table' end as kind, p.need
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      cross join lateral unnest(case
        when c.relkind = 'S' then array['usage']
        when c.relkind = 'v' or c.relname = 'migration' then array['select']
        when c.relname ~ '^delivered_[0-9]+$' then array['select', 'insert', 'update', 'delete', 'truncate']
        else array['select', 'insert', 'update', 'delete'] end) as p(need)
      where n.nspname = $1::text and c.relkind in ('r', 'p', 'v', 'S')
        and not case when c.relkind = 'S' then has_sequence_privilege(c.oid, p.need)
          else has_table_privilege(c.oid, p.need) end
      union all select p.proname::text, 'function', 'execute'
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = $1::text and p.prorettype <> 'trigger'::regtype and not has_function_privilege(p.oid, 'execute')
      order by 2 desc, 1, 3`,
    [name],
  );
  const usage = await firstRow(
    sql,
    `select current_user::text as role, has_schema_privilege($1::text, 'usage')::text as usage`,
    [name],
  );
  const check = 'privileges';
  const role = usage['role'] ?? '';
  const missing = missingRights(rows);
  const inSchema = `in schema ${name} to ${role}`;
  const tableRights = rightsOf(rows.filter((row) => row['kind'] === 'table'));
  const grants = [
    ...(usage['usage'] === 'true' ? [] : [`grant usage on schema ${name} to ${role}`]),
    ...(tableRights === '' ? [] : [`grant ${tableRights} on all tables ${inSchema}`]),
    ...(rows.some((row) => row['kind'] === 'sequence') ? [`grant usage on all sequences ${inSchema}`] : []),
    ...(rows.some((row) => row['kind'] === 'function') ? [`grant execute on all functions ${inSchema}`] : []),
  ];
  if (grants.length === 0) return { check, status: 'ok', found: `${role} may do all that workers and operators do` };
  const what = [...(usage['usage'] === 'true' ? [] : ['usage of the schema']), ...missing];
  return problem(
    check,
    `${role} lacks ${what.slice(0, 5).join(', ')}${what.length > 5 ? ', …' : ''}`,
    grants.join('; '),
  );
};

function missingRights(rows: readonly Record<string, unknown>[]): readonly string[] {
  const byTable = new Map<string, string[]>();
  for (const row of rows) {
    const name = String(row['name']);
    byTable.set(name, [...(byTable.get(name) ?? []), String(row['need'])]);
  }
  return [...byTable].map(([name, rights]) => `${rights.join('/')} on ${name}`);
}

function rightsOf(rows: readonly Record<string, unknown>[]): string {
  return [...new Set(rows.map((row) => String(row['need'])))].join(', ');
}

function problem(check: string, found: string, next: string): CheckFinding {
  return { check, status: 'problem', found, next };
}

/** The table of open deliveries is vacuumed: every delivery leaves a dead row behind. */
export const autovacuum: DatabaseCheck = async ({ schema: name, sql }) => {
  const row = await firstRow(
    sql,
    `select current_setting('autovacuum') as autovacuum, current_setting('track_counts') as track_counts,
        coalesce((select 'off' from unnest(c.reloptions) as o where o ~ '^autovacuum_enabled=(false|off|0)$'), 'on') as own,
        pg_stat_get_dead_tuples(c.oid)::text as dead, pg_stat_get_live_tuples(c.oid)::text as live
      from pg_class c where c.oid = to_regclass($1::text)`,
    [`${name}.delivery`],
  );
  const check = 'autovacuum';
  const found = `delivery has about ${row['live'] ?? '?'} live and ${row['dead'] ?? '?'} dead rows`;
  const off = [
    ...(row['autovacuum'] === 'on' ? [] : ['set autovacuum = on']),
    ...(row['track_counts'] === 'on' ? [] : ['set track_counts = on']),
    ...(row['own'] === 'on' ? [] : [`alter table ${name}.delivery reset (autovacuum_enabled)`]),
  ];
  if (off.length === 0) return { check, status: 'ok', found: `on; ${found}` };
  return problem(check, `off for delivery; ${found}`, `${off.join('; ')}: without it reading slows down day by day`);
};
