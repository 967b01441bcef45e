import { COMMAND_STATES, FIRST_STATES, TRANSITIONS } from '../../commands/command-state.ts';
import { ON_EXHAUSTED } from '../../commands/command.ts';
import { COMMAND_PREFIX, COMMANDS_HANDLER } from '../../outbox/command-type.ts';
import { finishFunction, putFunction, startFunction } from '../commands/functions.ts';
import { KEPT_PLAN } from './functions.ts';

/**
 * Durable commands. `command`: what was asked of whom, and where it stands.
 *   id           that of its message, whose row in `delivery` does the work; the state follows that row
 *   request_hash of its name and its payload: a key stands for one request
 *   attempt      the one under way, or the last · attempts: those that have ended · both of this cycle
 *   cycle        raised by each replay
 *   n            how many events it has
 *   actor        who did the last step by hand
 *   keep_ms      how long it is kept after its end; `expires_at` is when that is, and unfinished ones have none
 * `command_event`: each step of it. `n` has no gaps: updates of one row wait for each other, which transactions on two rows do not.
 */
export function commandTables(schema: string): readonly string[] {
  return [
    // A row is rewritten at each step, and stays in its page where there is room.
    `create table ${schema}.command (
      id uuid primary key,
      service text not null,
      name text not null,
      target text not null,
      module text not null,
      idempotency_key text not null,
      state text not null check (state in (${listed(COMMAND_STATES)})),
      on_exhausted text not null check (on_exhausted in (${listed(ON_EXHAUSTED)})),
      request_hash bytea not null,
      attempt int not null default 0,
      attempts int not null default 0,
      cycle int not null default 0,
      n int not null default 1,
      answer jsonb,
      error jsonb,
      correlation jsonb not null default '{}',
      actor text,
      keep_ms bigint not null,
      created_at timestamptz not null default clock_timestamp(),
      queued_at timestamptz,
      started_at timestamptz,
      updated_at timestamptz not null default clock_timestamp(),
      done_at timestamptz,
      closed_at timestamptz,
      expires_at timestamptz,
      unique (service, idempotency_key),
      check ((state = 'done') = (done_at is not null) and (answer is null or state = 'done')),
      check (expires_at is null or state = 'done' or closed_at is not null)
    ) with (fillfactor = 70)`,
    `create index command_target on ${schema}.command (target, service)`,
    `create index command_expiry on ${schema}.command (expires_at) where expires_at is not null`,
    `create table ${schema}.command_event (
      command uuid not null references ${schema}.command on delete cascade,
      n int not null,
      at timestamptz not null default clock_timestamp(),
      kind text not null default 'moved' check (kind in ('moved', 'closed', 'reopened')),
      from_state text,
      to_state text not null,
      attempt int not null,
      cycle int not null,
      idempotency_key text not null,
      error jsonb,
      actor text,
      primary key (command, n))`,
    ...stepTrigger(schema),
    ...followTrigger(schema),
    ...operatorTrigger(schema),
    putFunction(schema),
    startFunction(schema),
    finishFunction(schema),
  ];
}

function listed(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(', ');
}

/** Writes an event of the row `c`. */
function writeEvent(schema: string, c: string, values: { kind: string; from: string }): string {
  return `insert into ${schema}.command_event (command, n, kind, from_state, to_state, attempt, cycle, idempotency_key, error, actor)
      values (${c}.id, ${c}.n, '${values.kind}', ${values.from}, ${c}.state, ${c}.attempt, ${c}.cycle, ${c}.idempotency_key,
        case when ${c}.state in ('retry_wait', 'blocked', 'dlq') then ${c}.error end, ${c}.actor)`;
}

/** Refuses steps that are not in the table, whoever writes them, and keeps an event of each. */
function stepTrigger(schema: string): readonly string[] {
  const legal = Object.entries(TRANSITIONS).flatMap(([from, to]) => to.map((next) => `('${from}', '${next}')`));
  return [
    `create function ${schema}.command_step() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then
        if new.state not in (${listed(FIRST_STATES)}) or new.n <> 1 then
          raise exception 'a command cannot begin as %', new.state using errcode = 'check_violation';
        end if;
        ${writeEvent(schema, 'new', { kind: 'moved', from: 'null' })};
        return null;
      end if;
      if (old.state, new.state) not in (${legal.join(', ')}) then
        raise exception 'a command cannot go from % to %', old.state, new.state using errcode = 'check_violation';
      end if;
      new.n := old.n + 1;
      new.updated_at := clock_timestamp();
      ${writeEvent(schema, 'new', { kind: 'moved', from: 'old.state' })};
      return new;
    end $$`,
    `create trigger command_made after insert on ${schema}.command for each row execute function ${schema}.command_step()`,
    // "Of state": also where it is set to what it is, which is no step either.
    `create trigger command_moved before update of state on ${schema}.command for each row execute function ${schema}.command_step()`,
  ];
}

/**
 * Makes the state follow the delivery: what is settled by whomever, at a timeout, after a crash, by an operator. A delivery that was
 * settled without having run (its payload does not fit, it killed its processes) goes through `running` all the same.
 */
function followTrigger(schema: string): readonly string[] {
  return [
    `create function ${schema}.command_follow() returns trigger language plpgsql ${KEPT_PLAN} as $$
    declare
      c ${schema}.command;
    begin
      select * into c from ${schema}.command where id = new.id and service =
        (select h.service from ${schema}.handler h where h.id = new.handler and h.name = '${COMMANDS_HANDLER}') for no key update;
      if not found or c.state = 'done' then return null; end if;
      if new.cycle > old.cycle then
        -- Who replayed it stands in the history of the delivery.
        update ${schema}.command set state = case c.state when 'dlq' then 'replaying' else 'queued' end, attempt = 0, attempts = 0,
          cycle = new.cycle, error = null, queued_at = clock_timestamp(), actor = new.failure_history -> -1 ->> 'replayedBy'
        where id = c.id;
        return null;
      end if;
      if c.state <> 'running' then
        update ${schema}.command set state = 'running', attempt = greatest(new.attempts, 1), actor = null where id = c.id;
      end if;
      update ${schema}.command set
        state = case when new.state <> 2 then 'retry_wait' when new.holds then 'blocked' else 'dlq' end,
        attempt = greatest(new.attempts, attempt), attempts = new.attempts, error = new.error - 'stack', actor = null
      where id = c.id;
      return null;
    end $$`,
    // Nothing of what messages cost but when they fail: a condition that is looked at without a call.
    `create trigger delivery_command after update on ${schema}.delivery for each row
      when (new.type ^@ '${COMMAND_PREFIX}' and (new.attempts > old.attempts or new.cycle > old.cycle or new.state = 2 and old.state <> 2))
      execute function ${schema}.command_follow()`,
  ];
}

/**
 * What operators do that leaves no row of the delivery behind is known from the audit: giving it up, and taking that back. A trigger on
 * the deletion of deliveries would be paid by every message that is handled.
 */
function operatorTrigger(schema: string): readonly string[] {
  return [
    `create function ${schema}.command_audited() returns trigger language plpgsql as $$
    declare
      c ${schema}.command;
    begin
      select * into c from ${schema}.command where id = new.message_id and (new.handler is null or service =
        (select h.service from ${schema}.handler h where h.id = new.handler and h.name = '${COMMANDS_HANDLER}')) for no key update;
      if not found or c.state = 'done' or (c.closed_at is null) <> (new.verb in ('discard', 'cancel')) then return null; end if;
      if c.closed_at is null then
        update ${schema}.command set closed_at = clock_timestamp(), updated_at = clock_timestamp(), actor = new.actor, n = n + 1,
          expires_at = clock_timestamp() + keep_ms * interval '1 millisecond' where id = c.id returning * into c;
        ${writeEvent(schema, 'c', { kind: 'closed', from: 'c.state' })};
        return null;
      end if;
      update ${schema}.command set closed_at = null, expires_at = null, updated_at = clock_timestamp(), actor = new.actor, n = n + 1,
        attempts = 0, cycle = (new.details ->> 'cycle')::int where id = c.id returning * into c;
      ${writeEvent(schema, 'c', { kind: 'reopened', from: 'c.state' })};
      if c.state in ('blocked', 'dlq') then
        update ${schema}.command set state = case c.state when 'dlq' then 'replaying' else 'queued' end, attempt = 0,
          error = null, queued_at = clock_timestamp() where id = c.id;
      end if;
      return null;
    end $$`,
    `create trigger audit_command after insert on ${schema}.audit for each row
      when (new.message_id is not null and new.verb in ('discard', 'cancel', 'replay')) execute function ${schema}.command_audited()`,
  ];
}
