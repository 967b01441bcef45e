import { OptionCheck } from '../../kernel/check-options.ts';
import { checkFilter, MAX_PAGE } from '../../operator/check-request.ts';
import type { DeadLetter, DeadLetterStatus } from '../../operator/operator-records.ts';
import type { DeadLetterFilter, Page, Paging } from '../../operator/operator.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';
import { deadLetterBranches } from './views.ts';

/** Where a page ended: the time in microseconds, and the id. */
const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)~([0-9a-f-]{36}:\d{1,5})$/;

// The parameters $1 … $8 of `filterParams`, over a row `l` of a branch of the view.
const FITS = `($1::text is null or l.service = $1::text)
    and ($2::text is null or l.handler = $2::text or l.service || '/' || l.handler = $2::text)
    and ($3::text is null or l.type = $3::text)
    and ($4::text is null or l.key = $4::text)
    and ($5::text is null or l.updated_at >= $5::text::timestamptz)
    and ($6::text is null or l.updated_at < $6::text::timestamptz)
    and ($7::text is null or l.error ->> 'code' = $7::text)
    and ($8::text is null or position(lower($8::text) in lower(concat_ws(' ', l.id, l.type, l.key, l.error ->> 'message', l.payload::text))) > 0)`;

function filterParams(filter: DeadLetterFilter): readonly SqlParam[] {
  const { service, handler, type, key, since, until, errorCode, search } = filter;
  const times = [since, until].map((time) => time?.toISOString() ?? null);
  return [service ?? null, handler ?? null, type ?? null, key ?? null, ...times, errorCode ?? null, search ?? null];
}

function listStatement(schema: string, status: DeadLetterStatus): string {
  return `select to_char(l.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '~' || l.id as place,
      json_build_object('id', l.id, 'messageId', l.message_id, 'service', l.service, 'handler', l.handler, 'type', l.type,
        'key', l.key, 'source', l.source, 'target', l.target, 'generation', l.generation, 'status', l.status,
        'attempts', l.attempts, 'error', l.error, 'cycle', l.cycle, 'firstFailedAt', l.first_failed_at,
        'lastAttemptAt', l.last_attempt_at, 'createdAt', l.created_at, 'updatedAt', l.updated_at, 'holds', l.holds)::text as row
    from (${deadLetterBranches(schema)[status]}) l where ${FITS}
      and ($9::text is null or (l.updated_at, l.id) < ($9::text::timestamptz, $10::text))
    order by l.updated_at desc, l.id desc limit $11::text::int`;
}

/** Dead letters, the newest first. */
export async function listDeadLetters(
  sql: SqlRunner,
  schema: string,
  filter: DeadLetterFilter & Paging & { readonly status?: DeadLetterStatus | undefined },
): Promise<Page<DeadLetter>> {
  checkFilter('deadLetters', filter, ['status', 'limit', 'cursor'], MAX_PAGE);
  const { status = 'pending', limit = 100, cursor } = filter;
  const [, time = null, id = null] = (cursor === undefined ? null : CURSOR.exec(cursor)) ?? [];
  if (cursor !== undefined && id === null) {
    const check = new OptionCheck('deadLetters()');
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
    check.done();
  }
  const params = [...filterParams(filter), time, id, limit + 1];
  const rows = await sql.query(listStatement(schema, status), params);
  const items = rows.slice(0, limit).map((row) => toDeadLetter(readJson(row, 'row') as Fields));
  return { items, next: rows.length > limit ? String(rows[limit - 1]?.['place']) : undefined };
}

function toDeadLetter(fields: Fields): DeadLetter {
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
  const text = `select ${schema}.operator_replay(array_agg(p.message_id), array_agg(p.handler), $10::text::bigint, $11::text, $12::text) as count
    from (select l.message_id, split_part(l.id, ':', 2)::smallint as handler from (${deadLetterBranches(schema).pending}) l
      where ${FITS} order by l.updated_at, l.id limit $9::text::int) p`;
  const [row] = await sql.query(text, [...filterParams(filter), filter.limit ?? 100, ...change]);
  return Number(row?.['count']);
}
