import { type PostgresService, schemaOf } from './settings.ts';

/**
 * The relations that the reliability plan of these services names, with the fields as it spells them, over the tables of the engine.
 * The outbox has what this service sent, the inbox what it took from a broker. A record of a request is found by a hash: its key is
 * not stored.
 */
export function planViews(service: PostgresService): string {
  const schema = schemaOf(service);
  const head = 'i.head::jsonb';
  // Only of JSON can be said how its bytes read as text; those of gRPC are base64.
  const isJson = String.raw`jsonb_path_exists(${head}, 'strict $.headers[*] ? (@[0] like_regex "^content-type$" flag "i" && @[1] like_regex "json")', '{}', true)`;
  // Behind the id of a message at RabbitMQ is where the relay had it from, which the plan does not have.
  const sourceId = String.raw`regexp_replace(i.source_id, '^(amqp:.*@[0-9a-f-]{36})/.*$', '\1')`;
  const handled = `from ${schema}.event_handled h where h.service = '${service}'`;
  return `
    create or replace view ${schema}.outbox_events as
      select o.id as "_id", o.aggregate_type as "aggType", o.aggregate_id as "aggId", o.type as "eventType", o.payload,
        o.created_at as "createdAt",
        (select min(h.handled_at) ${handled} and h.event_id = o.id and h.handler like 'to-%') as "publishedAt",
        o.traceparent, coalesce(o.tracestate, '') as tracestate
      from ${schema}.outbox o where o.source = '${service}';
    -- Not processed as long as a handler has yet to succeed. Its history is forgotten before the inbox is: then it was when it came.
    create or replace view ${schema}.inbox_messages as
      select ${sourceId} as "_id", coalesce(p.first_at, i.first_at) as "firstProcessedAt",
        greatest(p.last_at, i.last_at) as "lastProcessedAt"
      from ${schema}.inbox i cross join lateral (
        select min(h.handled_at) as first_at, max(h.handled_at) as last_at
        ${handled} and h.event_id = i.id and h.handler not like 'to-%') p
      where p.first_at is not null or not exists (select from ${schema}.delivery d where d.id = i.id);
    create or replace view ${schema}.idempotency_keys as
      select i.id as "_id", i.fingerprint as "requestHash",
        case when ${isJson} then convert_from(i.body, 'UTF8')::jsonb else to_jsonb(encode(i.body, 'base64')) end as response,
        coalesce(${head} ->> 'status', ${head} ->> 'code')::int as "statusCode",
        i.created_at as "createdAt", i.expires_at as "ttlAt"
      from ${schema}.idempotency i;
  `;
}
