import { COMMANDS_HANDLER } from '../../outbox/command-type.ts';
import { IS_SAME_TRANSACTION } from '../driver/transaction-limits.ts';
import { fanOut, FULL } from '../fan-out.ts';
import { KEPT_PLAN } from '../schema/functions.ts';
import { wakeChannel, wakeStatement } from '../relay/wake-statement.ts';

/**
 * Makes a command known, and puts it in line unless it is to be `idle`. `input` is the message as `messageInput` writes it, `about` what
 * is more to a command. A key that two transactions use at once makes the second wait for the first. `kind` is `full`, `known` or
 * `other-request`. A command that is known is not locked: a sender that stays open must not hold up its run.
 */
export function putFunction(schema: string): string {
  const wake = wakeStatement(schema, wakeChannel(schema.slice(1, -1))).replace(/^select/, 'perform');
  return `create function ${schema}.command_put(input text, about text, to_state text,
      out kind text, out command_id text, out known_state text, out is_new boolean) language plpgsql ${KEPT_PLAN} as $body$
    declare
      a record;
      c record;
      unit_count int;
      has_no_room boolean;
      hash bytea;
    begin
      select units, is_full into unit_count, has_no_room from ${schema}.meta;
      select * into a from json_to_record(about::json) as x (id uuid, service text, name text, target text, module text,
        idempotency_key text, on_exhausted text, correlation jsonb, keep_ms bigint);
      hash := sha256(convert_to(a.name || ' ' || (input::json -> 0 -> 'payload')::jsonb::text, 'UTF8'));
      is_new := false;
      loop
        select id, state, request_hash into c from ${schema}.command
          where service = a.service and idempotency_key = a.idempotency_key;
        if found and c.request_hash = hash and c.state = 'idle' and to_state = 'queued' then
          select id, state, request_hash into c from ${schema}.command where id = c.id for no key update;
          continue when not found;
        end if;
        if found then
          command_id := c.id;
          known_state := c.state;
          kind := case when c.request_hash = hash then 'known' else 'other-request' end;
          if kind = 'other-request' or c.state <> 'idle' or to_state = 'idle' then return; end if;
          if has_no_room then kind := '${FULL}'; return; end if;
          update ${schema}.command set state = 'queued', queued_at = clock_timestamp(), on_exhausted = a.on_exhausted,
            correlation = a.correlation where id = c.id;
          -- Its message has its id.
          input := jsonb_set(input::jsonb, '{0,id}', to_jsonb(c.id))::text;
          exit;
        end if;
        if has_no_room and to_state = 'queued' then kind := '${FULL}'; return; end if;
        insert into ${schema}.command (id, service, name, target, module, idempotency_key, state, on_exhausted, request_hash, correlation,
          keep_ms, queued_at)
        values (a.id, a.service, a.name, a.target, a.module, a.idempotency_key, to_state, a.on_exhausted, hash, a.correlation,
          a.keep_ms, case to_state when 'queued' then clock_timestamp() end)
        on conflict (service, idempotency_key) do nothing;
        if found then
          command_id := a.id;
          exit;
        end if;
      end loop;
      kind := 'known';
      known_state := to_state;
      is_new := true;
      if to_state = 'queued' then
        ${fanOut(schema, 'unit_count')};
        ${wake};
      end if;
    end $body$`;
}

const START_LOCK_MS = 1_000;

/**
 * Writes that a command runs, if the delivery is still what the run was started for and the unit its worker's. Under the same lock on
 * the lease as every other write of a run, so that whoever takes the unit over comes before or after it. A command that is found
 * running was left so by a process that is no more, or by one that was stopped: an attempt that is not counted. It does not wait long
 * for a row that somebody holds: meanwhile nobody could take the unit over, and the client that gave up waiting still has the connection.
 */
export function startFunction(schema: string): string {
  const lost = {
    name: 'ProcessLost',
    code: 'PROCESS_LOST',
    kind: 'lost',
    message: 'the process that ran it died, was stopped, or lost its lease or its connection',
  };
  return `create function ${schema}.command_start(p_id uuid, p_service text, p_worker uuid, p_unit int, p_epoch bigint, p_seq bigint,
      p_state smallint, p_version int, p_cycle int, p_attempts int, out kind text, out started text) language plpgsql
      ${KEPT_PLAN} set lock_timeout = ${START_LOCK_MS} as $body$
    declare
      d record;
      c ${schema}.command;
    begin
      kind := 'taken';
      perform from ${schema}.lease l where l.unit = p_unit and l.owner = p_worker and l.epoch = p_epoch for share;
      if not found then return; end if;
      select attempts, version into d from ${schema}.delivery where unit = p_unit and state = p_state and seq = p_seq
        and id = p_id and version = p_version and cycle = p_cycle and attempts = p_attempts for share;
      if not found then return; end if;
      select * into c from ${schema}.command where id = p_id and service = p_service for no key update;
      kind := 'unknown';
      if not found then return; end if;
      if c.state = 'running' then
        update ${schema}.command set state = 'retry_wait', actor = null, error = '${JSON.stringify(lost)}' where id = p_id;
      end if;
      update ${schema}.command set state = 'running', attempt = d.attempts + 1, started_at = clock_timestamp(), actor = null
        where id = p_id;
      kind := 'started';
      started := json_build_object('target', c.target, 'module', c.module, 'correlation', c.correlation,
        'idempotencyKey', c.idempotency_key || case d.version when 0 then '' else '-e' || d.version end);
    end $body$`;
}

/**
 * Writes the answer, in the transaction in which the delivery is finished afterwards. The delivery is locked first, as by everybody
 * else: in another order an operator and a run could wait for each other.
 */
export function finishFunction(schema: string): string {
  return `create function ${schema}.command_finish(p_id uuid, p_service text, p_answer jsonb) returns text language plpgsql ${KEPT_PLAN} as $body$
    begin
      if ${IS_SAME_TRANSACTION} is not true then return 'ended'; end if;
      perform from ${schema}.delivery d join ${schema}.handler h on h.id = d.handler
        where d.id = p_id and h.service = p_service and h.name = '${COMMANDS_HANDLER}' for update of d;
      if not found then return 'taken'; end if;
      update ${schema}.command set state = 'done', answer = p_answer, attempts = attempt, error = null, actor = null,
        done_at = clock_timestamp(), expires_at = clock_timestamp() + keep_ms * interval '1 millisecond'
      where id = p_id and service = p_service and state = 'running';
      return case when found then 'done' else 'taken' end;
    end $body$`;
}
