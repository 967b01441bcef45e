import type { RetryState } from '../../kernel/retry-state.ts';
import { type Forecast, forecastDelivery, type PlanFacts, type PolicyLookup } from '../../operator/forecast.ts';
import type { DeliveryId } from '../../operator/delivery-id.ts';
import type { Found, NotFound } from '../../operator/operator-outcomes.ts';
import type {
  AuditRecord,
  DeliveryRecord,
  EditRecord,
  MessageDetail,
  MessageSummary,
} from '../../operator/operator-records.ts';
import { shownPayload } from '../delivery/shown-request.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { auditRow } from './audit-list.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

const SUMMARY = `'id', o.id, 'type', o.type, 'key', o.key, 'source', o.source, 'target', o.target,
  'idempotencyKey', o.idempotency_key, 'generation', o.generation, 'status', o.status, 'attempts', o.attempts,
  'lastError', o.last_error, 'createdAt', o.created_at, 'dueAt', o.due_at, 'firstFailedAt', o.first_failed_at,
  'failedAt', o.failed_at, 'deletedAt', o.deleted_at, 'publishedAt', o.published_at`;
const DETAIL = `'payload', o.payload, 'headers', coalesce(o.headers, '{}'), 'aggregateType', o.aggregate_type,
  'aggregateId', o.aggregate_id, 'correlationId', o.correlation_id, 'causationId', o.causation_id,
  'traceparent', o.traceparent, 'tracestate', o.tracestate`;
const SUMMARY_DATES = ['createdAt', 'dueAt', 'firstFailedAt', 'failedAt', 'deletedAt', 'publishedAt'] as const;

/** One message in one line. */
export async function findMessage(
  sql: SqlRunner,
  schema: string,
  { messageId }: DeliveryId,
): Promise<Found<MessageSummary> | NotFound> {
  const text = `select json_build_object(${SUMMARY})::text as row from ${schema}.outbox o where o.id = $1::text::uuid`;
  const [row] = await sql.query(text, [messageId]);
  if (row === undefined) return { kind: 'not-found' };
  const fields = readJson(row, 'row') as Fields;
  return { kind: 'found', message: readRecord<MessageSummary>(fields, SUMMARY_DATES) };
}

/** All that is known of one message, of one moment. */
export async function showMessage(
  sql: SqlRunner,
  schema: string,
  { messageId }: DeliveryId,
): Promise<Found<MessageDetail> | NotFound> {
  const [row] = await sql.query(showStatement(schema), [messageId]);
  if (row === undefined) return { kind: 'not-found' };
  const { deliveries, edits, audit, ...fields } = readJson(row, 'row') as Fields &
    Record<'deliveries' | 'edits' | 'audit', readonly Fields[]>;
  const read = deliveries.map(toDelivery);
  const own = readRecord<Omit<MessageDetail, 'version' | 'deliveries' | 'edits' | 'audit'>>(fields, SUMMARY_DATES);
  const message = {
    ...own,
    payload: shownPayload(own.type, own.payload),
    version: Math.max(...read.map(({ version }) => version)),
    deliveries: read,
    edits: edits.map((edit) => toEdit(own.type, edit)),
    audit: audit.map((entry) => readRecord<AuditRecord>(entry, ['at'])),
  };
  return { kind: 'found', message };
}

function toEdit(type: string, fields: Fields): EditRecord {
  const edit = readRecord<EditRecord>(fields, ['editedAt']);
  return { ...edit, payload: shownPayload(type, edit.payload) };
}

function toDelivery(fields: Fields): DeliveryRecord {
  const record = readRecord<DeliveryRecord>(fields, ['dueAt', 'firstFailedAt', 'failedAt', 'doneAt']);
  const { running } = record;
  return { ...record, running: running && { ...running, startedAt: new Date(running.startedAt) } };
}

/** The rows of a query as a JSON list. */
function list(from: string): string {
  return `(select coalesce(json_agg(x.row order by x.place), '[]') from (${from}) x)`;
}

function showStatement(schema: string): string {
  const shared = `'id', d.id || ':' || d.handler, 'service', h.service, 'handler', h.name, 'attempts', d.attempts,
    'cycle', d.cycle, 'rerun', d.rerun, 'version', d.version, 'generation', d.generation, 'error', d.error,
    'firstFailedAt', d.first_failed_at, 'failureHistory', d.failure_history`;
  return `select (json_build_object(${SUMMARY})::jsonb || json_build_object(${DETAIL})::jsonb || jsonb_build_object(
      'deliveries', ${list(`
        select json_build_object(${shared}, 'status', (array['ready', 'waiting', 'failed'])[d.state + 1], 'dueAt', d.due_at,
          'failedAt', d.failed_at, 'doneAt', null, 'durationMs', null, 'holds', d.holds, 'reason', null, 'actor', null,
          'running', (select json_build_object('worker', r.worker, 'attempt', r.attempt, 'startedAt', r.started_at)
            from ${schema}.live_run r where r.id = d.id and r.handler = d.handler)) as row,
          (d.handler, d.rerun) as place
        from ${schema}.delivery d left join ${schema}.handler h on h.id = d.handler where d.id = o.id
        union all
        select json_build_object(${shared}, 'status', (array['delivered', 'discarded', 'cancelled'])[d.outcome + 1],
          'dueAt', null, 'failedAt', null, 'doneAt', d.done_at, 'durationMs', d.duration_ms, 'holds', false,
          'reason', d.reason, 'actor', d.actor, 'running', null), (d.handler, d.rerun)
        from ${schema}.delivered d left join ${schema}.handler h on h.id = d.handler where d.id = o.id`)},
      'edits', ${list(`
        select json_build_object('version', e.version, 'payload', e.payload, 'editedAt', e.edited_at, 'actor', e.actor,
          'reason', e.reason) as row, e.version as place from ${schema}.edit e where e.id = o.id`)},
      'audit', ${list(`
        select ${auditRow('a', 'h')} as row, a.id as place
        from ${schema}.audit a left join ${schema}.handler h on h.id = a.handler where a.message_id = o.id`)}))::text as row
    from ${schema}.outbox o where o.id = $1::text::uuid`;
}

/** The retry plans of a message's deliveries. */
export async function forecastMessage(
  sql: SqlRunner,
  schema: string,
  { messageId, handler }: DeliveryId,
  policyOf: PolicyLookup | undefined,
): Promise<Forecast | NotFound> {
  const text = `select to_json(clock_timestamp()) #>> '{}' as at, (select json_agg(x.row order by x.place) from (
      select json_build_object('id', d.id || ':' || d.handler, 'service', h.service, 'handler', h.name,
        'status', (array['ready', 'waiting', 'failed'])[d.state + 1], 'attempts', d.attempts, 'dueAt', d.due_at,
        'retry', d.retry) as row, d.handler as place, d.id, d.handler
      from ${schema}.delivery d left join ${schema}.handler h on h.id = d.handler
      union all
      select json_build_object('id', d.id || ':' || d.handler, 'service', h.service, 'handler', h.name,
        'status', (array['delivered', 'discarded', 'cancelled'])[d.outcome + 1], 'attempts', d.attempts, 'dueAt', null,
        'retry', null), d.handler, d.id, d.handler
      from ${schema}.delivered d left join ${schema}.handler h on h.id = d.handler
    ) x where x.id = $1::text::uuid and ($2::text is null or x.handler = $2::text::smallint))::text as rows`;
  const [row] = await sql.query(text, [messageId, handler ?? null]);
  const rows = readJson(row, 'rows') as readonly Fields[] | null;
  if (rows === null) return { kind: 'not-found' };
  const at = new Date(String(row?.['at']));
  const plans = rows
    .map((fields) => readRecord<PlanFacts & { readonly retry: RetryState | undefined }>(fields, ['dueAt']))
    // Without a handler there is no plan.
    .filter((facts) => facts.service !== undefined);
  return { kind: 'forecast', at, deliveries: plans.map((facts) => forecastDelivery(facts, policyOf, at)) };
}
