import { checkAuditFilter } from '../../operator/check-request.ts';
import { isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import type { AuditRecord } from '../../operator/operator-records.ts';
import type { AuditFilter, Page, Paging } from '../../operator/operator.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** An entry of the audit as JSON, from the rows `audit` and `handler`. */
export function auditRow(audit: string, handler: string): string {
  return `json_build_object('id', ${audit}.id, 'at', ${audit}.at, 'actor', ${audit}.actor, 'verb', ${audit}.verb,
    'reason', ${audit}.reason, 'messageId', ${audit}.message_id, 'service', ${handler}.service, 'handler', ${handler}.name,
    'details', ${audit}.details)`;
}

/** What was changed by hand, the newest first. */
export async function listAudit(
  sql: SqlRunner,
  schema: string,
  filter: AuditFilter & Paging,
): Promise<Page<AuditRecord>> {
  checkAuditFilter(filter);
  const { messageId, actor, verb, handler, since, limit = 100, cursor } = filter;
  const text = `select ${auditRow('a', 'h')}::text as row
    from ${schema}.audit a left join ${schema}.handler h on h.id = a.handler
    where ($1::text is null or a.message_id = $1::text::uuid) and ($2::text is null or a.actor = $2::text)
      and ($3::text is null or a.verb = $3::text)
      and ($4::text is null or h.name = $4::text or h.service || '/' || h.name = $4::text)
      and ($5::text is null or a.at >= $5::text::timestamptz) and ($6::text is null or a.id < $6::text::bigint)
    order by a.id desc limit $7::text::int`;
  const id = messageId === undefined ? undefined : parseDeliveryId(messageId);
  const of = id && !isBadId(id) ? id.messageId : null;
  const params = [of, actor ?? null, verb ?? null, handler ?? null, since?.toISOString() ?? null, cursor ?? null];
  const rows = await sql.query(text, [...params, limit + 1]);
  const items = rows.slice(0, limit).map((row) => readRecord<AuditRecord>(readJson(row, 'row') as Fields, ['at']));
  return { items, next: rows.length > limit ? String(items.at(-1)?.id) : undefined };
}
