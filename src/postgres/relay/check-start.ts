import { HoldfastError } from '../../kernel/error.ts';
import { checkVersion } from '../check-version.ts';
import type { Link } from '../driver/driver.ts';
import { HISTORY_SLOTS } from '../schema/messages.ts';

/** What a relay does to our tables; whatever is not listed it reads. */
const PRIVILEGES: Readonly<Record<string, readonly string[]>> = {
  meta: ['select', 'update'],
  handler: ['select', 'insert', 'update'],
  subscription: ['select', 'insert', 'update', 'delete'],
  lane: ['select', 'insert'],
  worker: ['select', 'insert', 'update', 'delete'],
  lease: ['select', 'insert', 'update'],
  poke: ['select'],
  waiter: ['select', 'insert', 'delete'],
  running: ['select', 'insert', 'update', 'delete'],
  delivery: ['select', 'insert', 'update', 'delete'],
  delivered: ['insert'],
  ...Object.fromEntries(Array.from({ length: HISTORY_SLOTS }, (_, slot) => [`delivered_${slot}`, ['truncate']])),
  history_count: ['select', 'insert', 'delete'],
  dedup: ['select', 'delete'],
  inbox: ['select', 'insert', 'update', 'delete'],
  command: ['select', 'update', 'delete'],
  command_event: ['insert'],
  trace_link: ['select', 'insert', 'update', 'delete'],
  fact: ['select', 'delete'],
};

/**
 * Looks whether a relay can work here, and throws `SCHEMA_TOO_OLD`, `SCHEMA_TOO_NEW`, `ROW_SECURITY_ACTIVE` or
 * `PRIVILEGE_MISSING` when not. Rows from a dump carry transactions of another server; those that this one has not reached yet
 * would look new again and again, and are marked as old.
 */
export async function checkStart(link: Link, schema: string): Promise<void> {
  await checkVersion(schema, async (statement) => (await link.query(statement, []))[0]?.[0]);
  const wanted = Object.entries(PRIVILEGES).flatMap(([relation, privileges]) =>
    privileges.map((privilege) => ({ relation: `${schema}.${relation}`, privilege })),
  );
  const rows = await link.query(
    `select w.relation, w.privilege, row_security_active(w.relation)::int, has_table_privilege(w.relation, w.privilege)::int
    from json_to_recordset($1::text::json) as w (relation text, privilege text)`,
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
