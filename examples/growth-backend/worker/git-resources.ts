import type { Ensured } from 'holdfast/http';
import type { Pool } from 'pg';

/** What a run has at the Git host. */
export interface GitResource {
  readonly kind: 'user' | 'repo' | 'file';
  readonly name: string;
}

/**
 * Makes something at the Git host, and knows of it whatever happens: the row is written before the host is asked and marked after. Where a
 * process dies or a token breaks in between, the row says what may be there, and the next attempt finds it and goes on.
 */
export async function ensureTracked<T>(
  pool: Pool,
  runId: string,
  { kind, name }: GitResource,
  ensure: () => Promise<Ensured<T>>,
): Promise<T> {
  await pool.query(`insert into growth.git_resource values ($1, $2, $3, 'wanted') on conflict do nothing`, [
    runId,
    kind,
    name,
  ]);
  const { value } = await ensure();
  await pool.query(`update growth.git_resource set state = 'there' where run_id = $1 and kind = $2 and name = $3`, [
    runId,
    kind,
    name,
  ]);
  return value;
}
