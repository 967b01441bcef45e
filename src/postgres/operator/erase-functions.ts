import { ERASED_PAYLOAD, PERSON_HEADER } from '../../outbox/stored-payload.ts';
import { LINK_LENGTH, PERSON_LINK } from '../fan-out.ts';

/** How many messages are erased in one commit: their rows are locked until then. */
const BATCH = 500;
const FACTS = 2_000;

/**
 * Erasing what is known of somebody, step by step, each a commit of its own. `erasure` is what goes on and what was done:
 *   person, document  whose; null once it is done, so that this is no list of who asked to be forgotten
 *   mark              tells the same subject again
 *   step, after       where it is: 0 messages · 1 commands · 2 facts · 3 idempotency records · 4 what is left
 */
export function erasing(schema: string): readonly string[] {
  return [
    `create table ${schema}.erasure (
      id uuid primary key default gen_random_uuid(),
      mark text not null,
      person text,
      document jsonb,
      is_open boolean not null,
      state text not null default 'running' check (state in ('running', 'done')),
      by_payload boolean not null,
      actor text not null,
      reason text not null,
      created_at timestamptz not null default clock_timestamp(),
      ended_at timestamptz,
      step smallint not null default 0,
      after uuid not null default '00000000-0000-0000-0000-000000000000',
      messages bigint not null default 0,
      open bigint not null default 0,
      commands bigint not null default 0,
      facts bigint not null default 0,
      records bigint not null default 0)`,
    `create unique index erasure_going_on on ${schema}.erasure (coalesce(person, ''), coalesce(md5(document::text), ''), is_open)
      where state = 'running'`,
    eraseMessages(schema),
    eraseStep(schema),
  ];
}

/** What is left of an error: what it is called, and nothing it says. */
function erasedError(error: string): string {
  return `case when ${error} is not null then (${error} - 'stack') || '{"message": "erased"}' end`;
}

/**
 * Erases messages that are done or dead; with p_open all. Answers how many, and how many were left because they are open. Rows are
 * locked first: one that is being finished at this moment is in the history then, and is seen there.
 */
function eraseMessages(schema: string): string {
  return `create function ${schema}.erase_messages(p_ids uuid[], p_open boolean, p_actor text, p_reason text,
    out erased int, out left_open int) language plpgsql as $body$
  declare
    v_ids uuid[];
    v_dead uuid[];
    v_handlers smallint[];
    v_links text[];
  begin
    perform from ${schema}.delivery d where d.id = any (p_ids) order by d.id, d.handler for update;
    select array_agg(d.id), array_agg(d.handler) into v_dead, v_handlers from ${schema}.delivery d where d.id = any (p_ids)
      and (p_open or not exists (select from ${schema}.delivery o where o.id = d.id and o.state <> 2));
    if v_dead is not null then
      perform ${schema}.operator_discard(v_dead, v_handlers, p_open, 1::smallint, p_actor, p_reason);
    end if;
    v_ids := array(select m.id from unnest(p_ids) as m (id)
      where not exists (select from ${schema}.delivery d where d.id = m.id));
    v_links := array(select distinct left(l.id, ${LINK_LENGTH}) from ${schema}.delivered d
      cross join lateral (values (d.correlation_id), (d.causation_id), ('${PERSON_LINK}' || (d.headers ->> '${PERSON_HEADER}'))) as l (id)
      where d.id = any (v_ids) and l.id is not null);
    update ${schema}.delivered d set payload = '${ERASED_PAYLOAD}', key = null, idempotency_key = null, aggregate_id = null,
      correlation_id = null, causation_id = null, traceparent = null, tracestate = null, headers = null, error = ${erasedError('d.error')},
      failure_history = coalesce((select jsonb_agg(c || jsonb_build_object('error', ${erasedError(`(c -> 'error')`)}) order by n)
        from jsonb_array_elements(d.failure_history) with ordinality as h (c, n)), '[]')
    where d.id = any (v_ids);
    update ${schema}.edit set payload = '${ERASED_PAYLOAD}' where id = any (v_ids);
    update ${schema}.inbox set source_id = 'erased' where id = any (v_ids);
    update ${schema}.http_event set headers = null, body = null, request = null, error = null where message_id = any (v_ids);
    update ${schema}.command set answer = null, error = null, correlation = '{}' where id = any (v_ids);
    update ${schema}.command_event set error = null where command = any (v_ids);
    delete from ${schema}.fact where ids && v_ids::text[];
    delete from ${schema}.trace_link where id = any (v_links) and message = any (v_ids);
    erased := cardinality(v_ids);
    left_open := cardinality(p_ids) - cardinality(v_ids);
  end $body$`;
}

/** The messages that hold a document and come after another, wherever they are. */
export function messagesWith(schema: string, document: string, after: string): string {
  return ['delivery', 'delivered', 'edit']
    .map((table) => `select t.id from ${schema}.${table} t where t.payload @> ${document} and t.id > ${after}`)
    .join(' union ');
}

/** One batch. Answers true once all is done. p_persons: the person as idempotency records know them. */
function eraseStep(schema: string): string {
  return `create function ${schema}.erase_step(p_id uuid, p_persons text[]) returns boolean language plpgsql as $body$
  declare
    e ${schema}.erasure;
    v_ids uuid[];
    v_count int := 0;
    v_done record;
  begin
    select * into e from ${schema}.erasure x where x.id = p_id for update;
    if not found or e.state = 'done' then return true; end if;
    if e.step < 2 then
      if e.step = 0 and e.by_payload then
        v_ids := array(select m.id from (${messagesWith(schema, 'e.document', 'e.after')}) m order by m.id limit ${BATCH});
      elsif e.step = 0 then
        v_ids := array(select distinct l.message from ${schema}.trace_link l
          where l.id = '${PERSON_LINK}' || e.person and l.message > e.after order by 1 limit ${BATCH});
      else
        v_ids := array(select c.id from ${schema}.command c
          where c.correlation ->> 'userId' = e.person and c.id > e.after order by c.id limit ${BATCH});
      end if;
      select * into v_done from ${schema}.erase_messages(v_ids, e.is_open, e.actor, e.reason);
      update ${schema}.erasure x set
        messages = x.messages + case e.step when 0 then v_done.erased else 0 end,
        commands = x.commands + case e.step when 1 then v_done.erased else 0 end,
        open = x.open + v_done.left_open,
        after = coalesce(v_ids[cardinality(v_ids)], x.after) where x.id = p_id;
      v_count := cardinality(v_ids);
    elsif e.step = 2 then
      delete from ${schema}.fact where id in (select f.id from ${schema}.fact f where f.user_id = e.person limit ${FACTS});
      get diagnostics v_count = row_count;
      update ${schema}.erasure x set facts = x.facts + v_count where x.id = p_id;
    elsif e.step = 3 then
      update ${schema}.idempotency i set person = null, head = null, body = null, forget = i.status in ('processing', 'unknown')
        where i.id in (select o.id from ${schema}.idempotency o where o.person = any (p_persons) order by o.id for no key update);
      get diagnostics v_count = row_count;
      update ${schema}.erasure x set records = x.records + v_count where x.id = p_id;
      v_count := 0;
    else
      update ${schema}.bulk_item i set error = null where i.error is not null
        and exists (select from ${schema}.delivered d where d.id = i.id and d.payload = '${ERASED_PAYLOAD}');
      update ${schema}.erasure x set state = 'done', person = null, document = null, ended_at = clock_timestamp()
        where x.id = p_id returning * into e;
      insert into ${schema}.audit (actor, verb, reason, details) values (e.actor, 'erase', e.reason, jsonb_build_object('erasure', e.id,
        'mark', e.mark, 'state', 'done', 'messages', e.messages, 'open', e.open, 'commands', e.commands, 'facts', e.facts,
        'idempotencyRecords', e.records));
      return true;
    end if;
    if v_count = 0 then
      -- By values in payloads: nothing else is known of whom they are about.
      update ${schema}.erasure x set step = case when x.by_payload then 4 else x.step + 1 end,
        after = '00000000-0000-0000-0000-000000000000' where x.id = p_id;
    end if;
    return false;
  end $body$`;
}
