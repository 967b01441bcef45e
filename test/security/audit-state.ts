import type { Pool } from 'pg';

/** What a schema holds, table by table, without what changes by being looked at. */
export async function stateOf(pool: Pool, schema: string): Promise<Readonly<Record<string, string>>> {
  const { rows } = await pool.query<{ name: string }>(
    `select c.relname as name from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'r' order by 1`,
    [schema],
  );
  const state: Record<string, string> = {};
  for (const { name } of rows) {
    if (OF_THE_MOMENT.has(name)) continue;
    const found = await pool.query<{ digest: string | null }>(
      `select count(*) || ' ' || md5(string_agg(t::text, ',' order by t::text)) as digest from ${schema}.${name} t`,
    );
    state[name] = found.rows[0]?.digest ?? '';
  }
  return state;
}

// Who is alive, and when a token was used: no write of the one who asks.
const OF_THE_MOMENT = new Set(['worker', 'unit', 'http_token', 'running', 'sample', 'http_destination']);

/**
 * From now on nothing that EVE does can be entered: neither in the audit nor as a publisher in the log. What she changes all the same
 * was changed in another transaction than its entry, or without one.
 */
export async function refuseEntriesOf(pool: Pool, schema: string, actorLike: string): Promise<void> {
  await pool.query(`create function ${schema}.no_entry() returns trigger language plpgsql as $$
    begin raise exception 'no entry of %', new.actor; end $$`);
  for (const table of ['audit', 'http_event']) {
    await pool.query(`create trigger no_entry before insert on ${schema}.${table} for each row
      when (new.actor like '${actorLike}') execute function ${schema}.no_entry()`);
  }
}
