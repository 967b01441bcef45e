import { OptionCheck } from '../../kernel/check-options.ts';
import { checkChange } from '../../operator/check-request.ts';
import type { Operator } from '../../operator/operator.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { resolveHandler } from './resolve-handlers.ts';

const MOST = 10_000;

/** How many runs of a handler may be at once in each process. Workers take it over when they look round, within seconds. */
export function limitVerb(sql: SqlRunner, schema: string): Pick<Operator, 'limit'> {
  return {
    async limit(handler, limit, by) {
      checkChange('limit', by);
      checkLimit(limit);
      const id = await resolveHandler(sql, schema, handler);
      if (typeof id !== 'number') return id;
      const changed = await sql.query(
        `with before as (select h.id, h.run_limit from ${schema}.handler h where h.id = $1::text::smallint for update),
        changed as (update ${schema}.handler h set run_limit = $4::text::int from before
          where h.id = before.id and h.run_limit is distinct from $4::text::int returning h.id),
        audited as (insert into ${schema}.audit (actor, verb, reason, handler, details)
          select $2::text, 'limit', $3::text, changed.id,
            jsonb_build_object('limit', $4::text::int, 'limitBefore', before.run_limit)
          from changed join before on before.id = changed.id returning 1)
        select ${schema}.operator_poke('{}')::text from audited`,
        [id, by.actor, by.reason ?? null, limit ?? null],
      );
      return { kind: changed.length > 0 ? 'limited' : 'unchanged', limit };
    },
  };
}

function checkLimit(limit: number | undefined): void {
  if (limit === undefined) return;
  const check = new OptionCheck('limit()');
  const write = `write a whole number from 1 to ${MOST.toLocaleString('en')}; to run none, pause the handler`;
  check.number('limit', limit, { min: 1, max: MOST, integer: true, write });
  check.done();
}
