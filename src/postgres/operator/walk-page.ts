import { OptionCheck } from '../../kernel/check-options.ts';
import type { Page, Paging } from '../../operator/operator.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson } from './read-record.ts';

/** How many rows a call reads at most, whatever the filter. */
const WALK_LIMIT = 10_000;

/** A list that is walked over in the order of an index, the last first. */
interface Walk<T> {
  readonly from: string;
  readonly order: readonly string[];
  /** Of a row `w` that was walked over: where it is, as the cursor has it. */
  readonly place: string;
  /** What a cursor looks like. Its groups, or all of it, are $1 and $2. */
  readonly cursor: RegExp;
  readonly before: string;
  /** Whether a row `w` fits, by the parameters from $3 on. */
  readonly fits: string;
  readonly params: readonly SqlParam[];
  readonly row: string;
  readonly read: (fields: Fields) => T;
}

/** A page of it. `next` with few items, or none, means that there may be more behind what was read. */
export async function walkPage<T>(sql: SqlRunner, of: string, paging: Paging, walk: Walk<T>): Promise<Page<T>> {
  const { limit = 100, cursor } = paging;
  const found = cursor === undefined ? undefined : walk.cursor.exec(cursor);
  if (found === null) {
    const check = new OptionCheck(of);
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
    check.done();
  }
  const place: readonly SqlParam[] = [found?.[1] ?? found?.[0] ?? null, found?.[2] ?? null];
  const [row] = await sql.query(walkStatement(walk, limit, cursor !== undefined), [...place, ...walk.params]);
  const { rows, end } = readJson(row, 'row') as {
    readonly rows: readonly { readonly place: string; readonly row: Fields }[];
    readonly end: string | null;
  };
  const items = rows.slice(0, limit).map((one) => walk.read(one.row));
  return { items, next: rows.length > limit ? rows[limit - 1]?.place : (end ?? undefined) };
}

/** Rows are written as JSON once it is known which: beside the order, each that was walked over would be. */
function walkStatement<T>(walk: Walk<T>, limit: number, isFurther: boolean): string {
  const order = walk.order.map((column) => `${column} desc`).join(', ');
  // Parameters that are not looked at have no type: they are named all the same.
  const before = isFurther ? walk.before : '$1::text is null and $2::text is null';
  return `with w as materialized (
      select *, row_number() over () as place_in_walk from (${walk.from} where ${before} order by ${order} limit ${WALK_LIMIT}) w)
    select json_build_object(
      'rows', coalesce((select json_agg(json_build_object('place', p.place, 'row', p.row) order by p.place_in_walk) from (
        select w.place_in_walk, ${walk.place} as place, ${walk.row} as row
        from (select * from w where ${walk.fits} order by w.place_in_walk limit ${limit + 1}) w) p), '[]'),
      'end', (select ${walk.place} from w where w.place_in_walk = ${WALK_LIMIT}))::text as row`;
}
