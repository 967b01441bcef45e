import { erasing } from '../operator/erase-functions.ts';
import { bulkFunctions } from '../operator/bulk-functions.ts';
import { groupListFunction } from '../operator/group-verbs.ts';
import { keyFunctions } from '../operator/key-functions.ts';

/** What operators work with: dead letters by cause, bulk operations, and the verbs on keys. */
export function operateSurface(schema: string): readonly string[] {
  return [
    ...groupTables(schema),
    groupListFunction(schema),
    ...bulkTables(schema),
    // Logouts: digests of sessions, until these would have ended.
    `create table ${schema}.ended_session (mark text primary key, until timestamptz not null)`,
    `create index ended_session_until on ${schema}.ended_session (until)`,
    ...erasing(schema),
    ...bulkFunctions(schema),
    ...keyFunctions(schema),
  ];
}

/**
 * Dead letters by cause. `error_group` is written when a cause is seen for the first time and when somebody resolves or ignores it;
 * how often it happens is counted in `error_tally`, by hour and in sixteen rows, of which a worker writes one. The housekeeper adds what is
 * older than a day to `total`. A resolved group that happens again is open because of when it happened: nothing is written for that.
 */
function groupTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.error_group (
      id text primary key,
      service text not null,
      handler text not null,
      type text not null,
      error jsonb not null,
      frames jsonb not null,
      state text not null default 'open' check (state in ('open', 'resolved', 'ignored')),
      changed_at timestamptz,
      actor text,
      reason text,
      total bigint not null default 0,
      first_seen_at timestamptz not null default clock_timestamp(),
      last_seen_at timestamptz not null default clock_timestamp())`,
    `create table ${schema}.error_tally (
      "group" text not null, hour int not null, shard smallint not null, n bigint not null, last_at timestamptz not null,
      primary key ("group", hour, shard)) with (fillfactor = 50)`,
    `create view ${schema}.error_groups as
      select g.id, g.service, g.handler, g.type, g.error, g.frames, s.state,
        case when s.state = g.state then g.changed_at end as changed_at, case when s.state = g.state then g.actor end as actor,
        case when s.state = g.state then g.reason end as reason, g.total + coalesce(t.n, 0)::bigint as total, g.first_seen_at,
        s.last_seen_at
      from ${schema}.error_group g
      left join (select t."group", sum(t.n) as n, max(t.last_at) as last_at from ${schema}.error_tally t group by 1) t on t."group" = g.id
      cross join lateral (select greatest(g.last_seen_at, t.last_at) as last_seen_at,
        case when g.state = 'resolved' and greatest(g.last_seen_at, t.last_at) > g.changed_at then 'open' else g.state end as state) s`,
    `create index delivery_group on ${schema}.delivery ((error ->> 'group'), failed_at) where state = 2`,
    // Written when a message dies and never else. What is in the list of pending entries is read whole: it is kept short.
    `create index delivery_dead_payload on ${schema}.delivery using gin (payload jsonb_path_ops)
      with (gin_pending_list_limit = 256) where state = 2`,
  ];
}

/**
 * Bulk operations.
 *   counts    how many items have each outcome, as BULK_OUTCOMES numbers them; they add up to total
 *             Items of a cancelled operation that are selected in their rows are dropped
 *   canary_to the last place that is a canary
 *   next_at   when the pace allows the next one
 *   look_at   when the next step is due; absent: nothing is to be done
 *   begun     the place up to which none is left that has not begun · ended_to: up to which all have ended
 *   followed  the place up to which started items were looked at in this round
 *   unpacked  the place up to which items have rows of their own; the others are in parcels, of which each begins at "first"
 * What is selected is written in parcels, a tenth of what rows cost; their items get rows shortly before they begin.
 * Items are read by place, from these on: an index over outcomes would be written with each step, and read past all that is done.
 * Of an item: cycle and rerun are those it was selected in; once it is started, those of the run that is followed.
 */
function bulkTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.bulk (
      id uuid primary key,
      verb text not null check (verb in ('replay', 'discard', 'republish')),
      state text not null default 'planned' check (state in ('planned', 'canary', 'running', 'paused', 'cancelled', 'done')),
      filter jsonb not null,
      canary int not null,
      per_second float8,
      generation bigint,
      actor text not null,
      reason text,
      created_at timestamptz not null default clock_timestamp(),
      started_at timestamptz,
      ended_at timestamptz,
      cancelled_at timestamptz,
      paused_for text,
      is_cut boolean not null,
      total int not null,
      counts int[] not null,
      canary_to int not null,
      is_canary_over boolean not null default false,
      next_at timestamptz,
      look_at timestamptz,
      begun int not null default 0,
      ended_to int not null default 0,
      followed int not null default 0,
      unpacked int not null default 0)`,
    `create index bulk_due on ${schema}.bulk (look_at) where look_at is not null`,
    `create index bulk_newest on ${schema}.bulk (created_at desc, id desc)`,
    `create table ${schema}.bulk_item (
      bulk uuid not null,
      place int not null,
      id uuid not null,
      handler smallint not null,
      cycle int not null,
      rerun int not null,
      outcome smallint not null default 0,
      started_at timestamptz,
      ended_at timestamptz,
      error jsonb,
      primary key (bulk, place)) with (fillfactor = 70)`,
    `create table ${schema}.bulk_parcel (
      bulk uuid not null,
      first int not null,
      ids uuid[] not null,
      handlers smallint[] not null,
      cycles int[] not null,
      reruns int[] not null,
      primary key (bulk, first))`,
    // Chance cannot be compressed: trying to would take longer than to write it.
    `alter table ${schema}.bulk_parcel alter ids set storage external`,
  ];
}
