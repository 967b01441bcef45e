import { HoldfastError } from '../../kernel/error.ts';
import { checkVersion } from '../check-version.ts';
import type { Link } from '../driver/driver.ts';
import { PRIVILEGES, SEQUENCE } from '../grants.ts';

/**
 * Looks whether a relay can work here, and throws `SCHEMA_TOO_OLD`, `SCHEMA_TOO_NEW`, `ROW_SECURITY_ACTIVE` or
 * `PRIVILEGE_MISSING` when not. Rows from a dump carry transactions of another server; those that this one has not reached yet
 * would look new again and again, and are marked as old.
 */
export async function checkStart(link: Link, schema: string): Promise<void> {
  await checkVersion(schema, async (statement) => (await link.query(statement, []))[0]?.[0]);
  const wanted = Object.entries(PRIVILEGES.worker).flatMap(([relation, privileges]) =>
    privileges.map((privilege) => ({ relation: `${schema}.${relation}`, privilege, sequence: relation === SEQUENCE })),
  );
  const rows = await link.query(
    `select w.relation, w.privilege, case when not w.sequence then row_security_active(w.relation) end::int,
      case when w.sequence then has_sequence_privilege(w.relation, w.privilege) else has_table_privilege(w.relation, w.privilege) end::int
    from json_to_recordset($1::text::json) as w (relation text, privilege text, sequence boolean)`,
    [JSON.stringify(wanted)],
  );
  for (const [relation, privilege, isHidden, isGranted] of rows as readonly [string, string, unknown, unknown][]) {
    if (Number(isHidden) === 1) throw new HoldfastError('ROW_SECURITY_ACTIVE', { relation });
    if (Number(isGranted) === 0) throw new HoldfastError('PRIVILEGE_MISSING', { relation, privilege });
  }
  await link.query(
    `update ${schema}.delivery set tx = '3' where state = 0 and tx >= pg_snapshot_xmax(pg_current_snapshot())`,
    [],
  );
}
