import { checkChange } from '../../operator/check-request.ts';
import type { Paused, Resumed, Retired } from '../../operator/operator-outcomes.ts';
import type { AuditVerb, HandlerRecord } from '../../operator/operator-records.ts';
import type { By, Operator } from '../../operator/operator.ts';
import { COMMAND_PREFIX } from '../../outbox/command-type.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';
import { resolveHandler } from './resolve-handlers.ts';

/** The verbs on handlers, and on all of them. */
type HandlerVerbs = Pick<Operator, 'handlers' | 'pause' | 'resume' | 'retire' | 'pauseAll' | 'resumeAll'>;

/** The verbs on handlers, each one statement. Workers see a pause when they look round, within seconds. */
export function handlerVerbs(sql: SqlRunner, schema: string): HandlerVerbs {
  return {
    handlers: () => listHandlers(sql, schema),
    async pause(handler, by) {
      checkChange('pause', by);
      const id = await resolveHandler(sql, schema, handler);
      return typeof id === 'number' ? pause(sql, schema, id, by) : id;
    },
    async resume(handler, by) {
      checkChange('resume', by);
      const id = await resolveHandler(sql, schema, handler);
      if (typeof id !== 'number') return id;
      const change = `update ${schema}.handler set paused_at = null where id = $1::text::smallint and paused_at is not null`;
      return (await apply(sql, schema, 'resume', change, id, by)) ? { kind: 'resumed' } : { kind: 'not-paused' };
    },
    async retire(handler, by, { discardOpen = false } = {}) {
      checkChange('retire', by);
      const id = await resolveHandler(sql, schema, handler);
      if (typeof id !== 'number') return id;
      const call = `${schema}.operator_retire($1::text::smallint, $2::text::boolean, $3::text, $4::text)`;
      const [row] = await sql.query(`select ${call}::text as answer`, [id, discardOpen, by.actor, by.reason ?? null]);
      return JSON.parse(String(row?.['answer'])) as Retired;
    },
    async pauseAll(by): Promise<Paused> {
      checkChange('pauseAll', by);
      const change = `update ${schema}.meta set is_paused = true where not is_paused`;
      const isChanged = await apply(sql, schema, 'pause-all', change, null, by);
      return isChanged ? { kind: 'paused' } : { kind: 'already-paused', since: undefined };
    },
    async resumeAll(by): Promise<Resumed> {
      checkChange('resumeAll', by);
      const change = `update ${schema}.meta set is_paused = false where is_paused`;
      return (await apply(sql, schema, 'resume-all', change, null, by)) ? { kind: 'resumed' } : { kind: 'not-paused' };
    },
  };
}

async function pause(sql: SqlRunner, schema: string, id: number, by: By): Promise<Paused> {
  const change = `update ${schema}.handler set paused_at = clock_timestamp() where id = $1::text::smallint and paused_at is null`;
  if (await apply(sql, schema, 'pause', change, id, by)) return { kind: 'paused' };
  const [row] = await sql.query(
    `select to_json(paused_at) #>> '{}' as since from ${schema}.handler where id = $1::text::smallint`,
    [id],
  );
  const since = row?.['since'];
  return { kind: 'already-paused', since: typeof since === 'string' ? new Date(since) : undefined };
}

/** One change with its audit entry and a wake-up; false when there was nothing to change. */
async function apply(
  sql: SqlRunner,
  schema: string,
  verb: AuditVerb,
  change: string,
  handler: number | null,
  { actor, reason = null }: { readonly actor: string; readonly reason?: string | null | undefined },
): Promise<boolean> {
  const text = `with changed as (${change} returning 1),
    audited as (insert into ${schema}.audit (actor, verb, reason, handler)
      select $2::text, '${verb}', $3::text, $1::text::smallint from changed returning 1)
    select ${schema}.operator_poke('{}')::text from audited`;
  return (await sql.query(text, [handler, actor, reason])).length > 0;
}

/** What a command is taken as begins with its service, which stands beside it anyway. */
function shownType(type: string): string {
  return `regexp_replace(${type}, '^!.*?/${COMMAND_PREFIX}', '${COMMAND_PREFIX}')`;
}

async function listHandlers(sql: SqlRunner, schema: string): Promise<readonly HandlerRecord[]> {
  const rows = await sql.query(`select json_build_object('service', h.service, 'handler', h.name,
      'types', coalesce((select json_agg(${shownType('s.type')} order by s.type) from ${schema}.subscription s where s.handler = h.id), '[]'),
      'isPinned', h.is_pinned, 'isRepeatable', h.is_repeatable, 'pausedAt', h.paused_at, 'limit', h.run_limit,
      'registeredAt', h.registered_at,
      'workers', coalesce((select json_agg(w.name order by w.name) from ${schema}.worker w
        where w.expires_at > clock_timestamp()
          and w.lanes && array(select l.id from ${schema}.lane l where l.handler = h.id)), '[]'))::text as row
    from ${schema}.handler h order by h.service, h.name`);
  return rows.map((row) => readRecord<HandlerRecord>(readJson(row, 'row') as Fields, ['pausedAt', 'registeredAt']));
}
