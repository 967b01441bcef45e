import type { DeliveryRequest } from '../../delivery/delivery-request.ts';
import { isEventType, patternsOf } from '../../delivery/event-types.ts';
import type { ChangedBy, WebhookEvent, WebhookSent } from '../../delivery/webhook-endpoints.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import { HoldfastError } from '../../kernel/error.ts';
import { findUnstorable } from '../../kernel/unstorable.ts';
import type { AuditVerb } from '../../operator/operator-records.ts';
import type { NewMessage } from '../../outbox/outbox-store.ts';
import { newId } from '../../system/new-id.ts';
import { systemEffects } from '../../system/effects.ts';
import { messageInput } from '../fan-out.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { messageOf } from './make-messages.ts';

/** What sending an event is told by settings. */
export interface WebhookRules {
  readonly maxBodyBytes: number;
  /** How long the id of an event is remembered. */
  readonly eventDedupMs: number;
}

const MAX_ID = 200;

/**
 * Sends an event to all endpoints that are enabled and want it, or to one that is named, through whatever connection or transaction this is: two statements, of
 * which the second is all that is written. `by`: the operator who sends it, for the audit.
 */
export async function sendWebhook(
  sql: SqlRunner,
  schema: string,
  rules: WebhookRules,
  event: WebhookEvent,
  { to, by }: { readonly to?: string | undefined; readonly by?: ChangedBy | undefined } = {},
): Promise<WebhookSent> {
  const body = bodyOf(event, rules);
  const eventId = event.eventId ?? newId();
  const endpointsFor = `select e.id, e.url, e.retry_seconds::text as retry_seconds from ${schema}.http_endpoint e
    where e.is_enabled and case when $2::text is null then e.event_types ?| $1::text[] else e.id = $2::text end order by e.id`;
  const rows = await sql.query(endpointsFor, [patternsOf(event.type), to ?? null]);
  const messages = rows.map((row) => messageFor(row, event.type, body, eventId));
  const sendCall = `select ${schema}.http_webhook_send($1::text, $2::text::float8, $3::text, $4::text, $5::text) as sent`;
  const dedupMs = event.eventId === undefined ? null : rules.eventDedupMs;
  const [row] = await sql.query(sendCall, [
    eventId,
    dedupMs,
    messageInput(messages),
    by?.actor ?? null,
    by === undefined ? null : JSON.stringify(entryOf(by, event.type, to)),
  ]);
  if (typeof row?.['sent'] !== 'string') throw new HoldfastError('OUTBOX_FULL', {});
  return { eventId, ...(JSON.parse(row['sent']) as Omit<WebhookSent, 'eventId'>) };
}

/** What the audit says where an operator sends it. */
function entryOf({ reason }: ChangedBy, type: string, to: string | undefined): object {
  const verb: AuditVerb = to === undefined ? 'send-event' : 'test-endpoint';
  return { verb, reason, details: { type, endpoint: to } };
}

/** The message for one endpoint. All of an event belong together by its id, so that one trace shows them. */
function messageFor(row: Record<string, unknown>, eventType: string, body: string, eventId: string): NewMessage {
  const retrySeconds = JSON.parse(String(row['retry_seconds'])) as readonly number[];
  const id = String(row['id']);
  const request: DeliveryRequest = {
    url: String(row['url']),
    method: 'POST',
    headers: { 'Content-Type': ['application/json'] },
    body,
    retries: retrySeconds.length,
    retrySeconds,
    signedBy: 'endpoint',
    endpointId: id,
    eventType,
    flowKey: `endpoint:${id}`,
  };
  return { ...messageOf(request, undefined, undefined), correlationId: eventId };
}

/** The body as Standard Webhooks has it. Throws for what is no event. */
function bodyOf({ type, data, occurredAt, eventId }: WebhookEvent, { maxBodyBytes }: WebhookRules): string {
  const check = new OptionCheck('send() of webhooks');
  if (typeof type !== 'string' || !isEventType(type)) {
    check.refuseName('type', type, 'write words with dots between them, as order.paid');
  }
  if (eventId !== undefined && (typeof eventId !== 'string' || eventId.length === 0 || eventId.length > MAX_ID)) {
    check.refuse('eventId', eventId, `write 1 to ${MAX_ID} characters, or leave it out`);
  }
  const unstorable = findUnstorable({ type, eventId, data }, 'event');
  if (unstorable !== undefined) check.refuse('data', data, `${unstorable}: leave it out, or send it encoded`);
  if (occurredAt !== undefined && !Number.isFinite(occurredAt.getTime())) {
    check.refuse('occurredAt', occurredAt, 'pass a time, or leave it out');
  }
  check.done();
  const timestamp = (occurredAt ?? new Date(systemEffects.now().wallMs)).toISOString();
  const body = JSON.stringify({ type, timestamp, data: data ?? null });
  const bytes = new TextEncoder().encode(body).length;
  if (bytes > maxBodyBytes) throw new HoldfastError('PAYLOAD_TOO_LARGE', { type, bytes, limitBytes: maxBodyBytes });
  return body;
}
