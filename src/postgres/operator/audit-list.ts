import { OptionCheck } from '../../kernel/check-options.ts';
import { checkList } from '../../operator/check-request.ts';
import { isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import type { AuditRecord, AuditVerb } from '../../operator/operator-records.ts';
import type { Page, Paging } from '../../operator/operator.ts';
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
  filter: Paging & {
    readonly messageId?: string | undefined;
    readonly actor?: string | undefined;
    readonly verb?: AuditVerb | undefined;
  },
): Promise<Page<AuditRecord>> {
  const { messageId, actor, verb, limit = 100, cursor } = filter;
  checkList('audit', filter, { messageId, actor, verb });
  const check = new OptionCheck('audit()');
  const id = messageId === undefined ? undefined : parseDeliveryId(messageId);
  if (id && isBadId(id)) check.refuse('messageId', messageId, `pass an id: ${id.problem}`);
  if (cursor !== undefined && !/^\d{1,18}$/.test(cursor)) {
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
  }
  check.done();
  const text = `select ${auditRow('a', 'h')}::text as row
    from ${schema}.audit a left join ${schema}.handler h on h.id = a.handler
    where ($1::text is null or a.message_id = $1::text::uuid) and ($2::text is null or a.actor = $2::text)
      and ($3::text is null or a.verb = $3::text) and ($4::text is null or a.id < $4::text::bigint)
    order by a.id desc limit $5::text::int`;
  const of = id && !isBadId(id) ? id.messageId : null;
  const rows = await sql.query(text, [of, actor ?? null, verb ?? null, cursor ?? null, limit + 1]);
  const items = rows.slice(0, limit).map((row) => readRecord<AuditRecord>(readJson(row, 'row') as Fields, ['at']));
  return { items, next: rows.length > limit ? String(items.at(-1)?.id) : undefined };
}
