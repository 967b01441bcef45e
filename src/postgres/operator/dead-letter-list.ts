import { OptionCheck } from '../../kernel/check-options.ts';
import { checkFilter, MAX_PAGE } from '../../operator/check-request.ts';
import type { DeadLetter, DeadLetterStatus } from '../../operator/operator-records.ts';
import type { DeadLetterFilter, FoundPage, Paging } from '../../operator/operator.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { deadLetterCondition } from './dead-letter-filter.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';
import { sealedNote } from './sealed-note.ts';
import { deadLetterBranches } from './views.ts';

/** Where a page ended: the time in microseconds, and the id. */
const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)~([0-9a-f-]{36}:\d{1,5})$/;

/** A row `l` of a branch of the view as a dead letter, in JSON. */
export const DEAD_LETTER_JSON = `json_build_object('id', l.id, 'messageId', l.message_id, 'service', l.service, 'handler', l.handler,
  'type', l.type, 'key', l.key, 'source', l.source, 'target', l.target, 'generation', l.generation, 'status', l.status,
  'attempts', l.attempts, 'error', l.error, 'cycle', l.cycle, 'firstFailedAt', l.first_failed_at, 'lastAttemptAt', l.last_attempt_at,
  'createdAt', l.created_at, 'updatedAt', l.updated_at, 'holds', l.holds, 'group', l.error ->> 'group')::text`;

/** The list, whose last parameters from `$<first>` on are the time and the id where the page before ended, and the limit. */
export function listStatement(schema: string, status: DeadLetterStatus, condition: string, first: number): string {
  const [time, id, limit] = [`$${first}::text`, `$${first + 1}::text`, `$${first + 2}::text`];
  return `select to_char(l.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '~' || l.id as place,
      ${DEAD_LETTER_JSON} as row
    from (${deadLetterBranches(schema)[status]}) l where ${condition}
      and (${time} is null or (l.updated_at, l.id) < (${time}::timestamptz, ${id}))
    order by l.updated_at desc, l.id desc limit ${limit}::int`;
}

/** Dead letters, the newest first. */
export async function listDeadLetters(
  sql: SqlRunner,
  schema: string,
  filter: DeadLetterFilter & Paging & { readonly status?: DeadLetterStatus | undefined },
): Promise<FoundPage<DeadLetter>> {
  checkFilter('deadLetters', filter, ['status', 'limit', 'cursor'], MAX_PAGE);
  const { status = 'pending', limit = 100, cursor } = filter;
  const [, time = null, id = null] = (cursor === undefined ? null : CURSOR.exec(cursor)) ?? [];
  if (cursor !== undefined && id === null) {
    const check = new OptionCheck('deadLetters()');
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
    check.done();
  }
  const condition = deadLetterCondition(filter, 1);
  const statement = listStatement(schema, status, condition.text, condition.params.length + 1);
  const rows = await sql.query(statement, [...condition.params, time, id, limit + 1]);
  const items = rows.slice(0, limit).map((row) => toDeadLetter(readJson(row, 'row') as Fields));
  const note = await sealedNote(sql, schema, filter.payload !== undefined || filter.search !== undefined);
  return {
    items,
    note,
    next: rows.length > limit ? String(rows[limit - 1]?.['place']) : undefined,
  };
}

/** Reads `DEAD_LETTER_JSON`. */
export function toDeadLetter(fields: Fields): DeadLetter {
  return readRecord<DeadLetter>(fields, ['firstFailedAt', 'lastAttemptAt', 'createdAt', 'updatedAt']);
}

const MOST_REPLAYS = 10_000;

/** Replays what fits and has failed, the oldest failure first. What somebody else replays at the same time is not counted. */
export async function replayWhere(
  sql: SqlRunner,
  schema: string,
  filter: DeadLetterFilter & { readonly limit?: number | undefined },
  change: readonly [generation: SqlParam, actor: SqlParam, reason: SqlParam],
): Promise<number> {
  checkFilter('replayWhere', filter, ['limit'], MOST_REPLAYS);
  const condition = deadLetterCondition(filter, 5);
  const text = `select ${schema}.operator_replay(array_agg(p.message_id), array_agg(p.handler), $1::text::bigint, $2::text, $3::text) as count
    from (select l.message_id, split_part(l.id, ':', 2)::smallint as handler from (${deadLetterBranches(schema).pending}) l
      where ${condition.text} order by l.updated_at, l.id limit $4::text::int) p`;
  const [row] = await sql.query(text, [...change, filter.limit ?? 100, ...condition.params]);
  return Number(row?.['count']);
}
