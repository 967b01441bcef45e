import type { SqlRunner } from '../sql-runner.ts';

const NOTE = 'Some payloads are sealed: what is in them cannot be searched. Look for them by key, type, id or person.';

/** So many of the newest open messages are looked at besides the dead letters, of which an index knows. */
const NEWEST = 100;

/** What a search in payloads must say; nothing where none is sealed. */
export async function sealedNote(sql: SqlRunner, schema: string, isSearched: boolean): Promise<string | undefined> {
  if (!isSearched) return undefined;
  const [row] = await sql.query(
    `select (exists (select from ${schema}.delivery d where d.state = 2 and d.payload ? '$sealed')
      or exists (select from (select n.payload from ${schema}.delivery n order by n.id desc limit ${NEWEST}) d
        where d.payload ? '$sealed'))::text as sealed`,
  );
  return row?.['sealed'] === 'true' ? NOTE : undefined;
}

/** The dead letters that are sealed. No other message pays for it but by the look at the condition. */
export function sealedIndex(schema: string): string {
  return `create index delivery_dead_sealed on ${schema}.delivery (id) where state = 2 and payload ? '$sealed'`;
}
