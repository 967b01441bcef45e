import type { HandlerRefusal } from '../../operator/operator-outcomes.ts';
import type { SqlRunner } from '../sql-runner.ts';

/** The numbers of the handlers that go by these names, in their order; or the first name that is not one handler's. */
export async function resolveHandlers(
  sql: SqlRunner,
  schema: string,
  names: readonly string[],
): Promise<readonly number[] | HandlerRefusal> {
  const rows = await sql.query(`select id::text as id, service, name from ${schema}.handler order by service, name`);
  const known = rows.map((row) => ({
    id: Number(row['id']),
    name: String(row['name']),
    full: `${String(row['service'])}/${String(row['name'])}`,
  }));
  const numbers: number[] = [];
  for (const name of names) {
    const fits = known.filter((handler) => handler.full === name || handler.name === name);
    const [first] = fits;
    if (first === undefined) return { kind: 'unknown-handler', name, known: known.map(({ full }) => full) };
    if (fits.length > 1) return { kind: 'ambiguous-handler', name, write: fits.map(({ full }) => full) };
    numbers.push(first.id);
  }
  return numbers;
}

/** As `resolveHandlers`, for one name. */
export async function resolveHandler(sql: SqlRunner, schema: string, name: string): Promise<number | HandlerRefusal> {
  const found = await resolveHandlers(sql, schema, [name]);
  return 'kind' in found ? found : (found[0] ?? 0);
}
