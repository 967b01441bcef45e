import type { Query } from '../driver/driver.ts';
import { ENVELOPE_COLUMNS, SEQ_STEP } from '../schema/messages.ts';

/** The statements that move deliveries out of lane 0, for one schema. $1 is how many at most. */
export interface AdoptStatements {
  readonly spread: string;
  readonly move: string;
}

/** Who has it registers or adopts; nobody else does at the same time. Until the transaction ends. */
export function registryLock(schema: string): string {
  return `pg_advisory_xact_lock(hashtextextended('holdfast register ${schema}', 0))`;
}

/**
 * `spread`: messages whose type had no handler when they were sent are given to all that take it now. `move`: deliveries whose
 * generation had no lane go to it. Both keep their place in line, so that they stand before whatever was sent after them, and
 * take the transaction of now, so that readers find them.
 */
export function adoptStatements(schema: string): AdoptStatements {
  const state =
    'state, version, holds, starts, faults, attempts, cycle, rerun, due_at, retry, error, first_failed_at, failed_at, failure_history';
  const columns = ENVELOPE_COLUMNS;
  const units = `(select units from ${schema}.meta)`;
  return {
    // A place in line is one row's. The next handlers take those behind it; a message has rarely more than that is room for.
    spread: `with found as materialized (
        select d.id from (select distinct type from ${schema}.subscription) s
        cross join lateral (select d.id, d.seq from ${schema}.delivery d where d.handler = 0 and coalesce(d.taken_as, d.type) = s.type
          order by coalesce(d.taken_as, d.type), d.seq limit $1::text::int for update skip locked) d
        order by d.seq limit $1::text::int),
      gone as (
        delete from ${schema}.delivery d using found where d.id = found.id and d.handler = 0 returning d.*),
      given as (
        insert into ${schema}.delivery (id, handler, unit, seq, ${state}, ${columns})
        select g.id, s.handler, coalesce(l.id, 0) * ${units} + g.unit,
          case when s.place < ${SEQ_STEP} then g.seq + s.place else nextval('${schema}.delivery_seq') end,
          ${columnsOf('g', state)}, ${columnsOf('g', columns)}
        from gone g join (
          select type, handler, is_pinned, row_number() over (partition by type order by handler) - 1 as place
          from ${schema}.subscription) s on s.type = coalesce(g.taken_as, g.type)
        left join ${schema}.lane l on l.handler = s.handler
          and l.generation is not distinct from (case when s.is_pinned then g.generation end))
      select count(*)::int from gone`,
    move: `with found as materialized (
        select d.id, d.handler, l.id as lane from ${schema}.delivery d
        join ${schema}.handler h on h.id = d.handler
        join ${schema}.lane l on l.handler = d.handler
          and l.generation is not distinct from (case when h.is_pinned then d.generation end)
        where d.unit >= 0 and d.unit < ${units} and d.handler <> 0
          and exists (select from ${schema}.handler p where p.is_pinned)
        order by d.seq limit $1::text::int for update of d skip locked),
      moved as (
        update ${schema}.delivery d set unit = f.lane * ${units} + d.unit, tx = pg_current_xact_id()
        from found f where d.id = f.id and d.handler = f.handler returning d.id)
      select count(*)::int from moved`,
  };
}

function columnsOf(alias: string, columns: string): string {
  return columns.replaceAll(/\w+/g, (name) => `${alias}.${name}`);
}

const BATCH = 1_000;

/** Moves up to `limit` deliveries; answers how many. Fewer: no more were there. */
export async function adopt(query: Query, statements: AdoptStatements, limit: number): Promise<number> {
  let adopted = 0;
  for (const statement of [statements.spread, statements.move]) {
    let last = BATCH;
    while (last === BATCH && adopted < limit) {
      const [row] = await query(statement, [BATCH]);
      last = Number(row?.[0] ?? 0);
      adopted += last;
    }
  }
  return adopted;
}
