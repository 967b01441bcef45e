import { deadReplayFunction } from '../delivery/dead.ts';
import { lineFunctions } from '../delivery/line-waiting.ts';
import { publishFunctions } from '../delivery/publish-functions.ts';
import { deliveryReads } from '../delivery/read-functions.ts';

/**
 * What the delivery server keeps besides its messages, which are the engine's. `tx` is the transaction that changed a row last: whoever
 * has looked before reads those again whose transaction had not ended then, and misses none.
 */
export function deliveryTables(schema: string): readonly string[] {
  return [
    ...logTable(schema),
    ...lineTables(schema),
    ...secretTables(schema),
    ...publishFunctions(schema),
    ...lineFunctions(schema),
    ...deliveryReads(schema),
    deadReplayFunction(schema),
  ];
}

/**
 * The log: one row when a message is published (attempt 0), one for each attempt that has ended, one when it is cancelled (attempt -1).
 *   state    0 CREATED · 1 DELIVERED · 2 ERROR, tried again at next_at · 3 FAILED · 4 CANCELED
 *   at       when it was published, when the attempt ended · next_at: of CREATED, when it is due
 *   request  of CREATED: what is delivered, without the body, which is in the message as long as that is kept
 * The key writes an attempt once; the index is for paging and for forgetting. Nothing else is indexed: ten thousand rows a second are to
 * be written.
 */
function logTable(schema: string): readonly string[] {
  return [
    `create table ${schema}.http_event (
      message_id uuid not null,
      cycle int not null,
      attempt int not null,
      state smallint not null check (state between 0 and 4),
      at timestamptz not null default clock_timestamp(),
      started_at timestamptz,
      next_at timestamptz,
      error text,
      status smallint,
      headers jsonb,
      body bytea,
      request jsonb,
      -- Of CREATED: who published it.
      actor text,
      primary key (message_id, cycle, attempt)
    ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_insert_scale_factor = 0.2)`,
    `create index http_event_at on ${schema}.http_event (at)`,
  ];
}

/**
 * What is said about lines: queues, keys of flow control, destinations; and names for several addresses. Names are unique over all
 * tenants: `@acme/nightly` is `nightly` of the tenant `acme`, and what has no such beginning belongs to `default`.
 */
function lineTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.http_queue (
      name text primary key,
      parallelism int not null default 1 check (parallelism > 0),
      is_paused boolean not null default false,
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp(),
      tx xid8 not null default pg_current_xact_id())`,
    `create index http_queue_tx on ${schema}.http_queue (tx)`,
    // started and period_start change with every start and are in no index, so that a row stays on its page.
    `create table ${schema}.http_flow (
      key text primary key,
      parallelism int check (parallelism > 0),
      rate int check (rate > 0),
      period_ms bigint check (period_ms > 0),
      is_paused boolean not null default false,
      is_parallelism_pinned boolean not null default false,
      is_rate_pinned boolean not null default false,
      period_start timestamptz,
      started int not null default 0,
      created_at timestamptz not null default clock_timestamp(),
      -- When something was published under it, to the hour.
      used_at timestamptz not null default clock_timestamp(),
      tx xid8 not null default pg_current_xact_id()) with (fillfactor = 50)`,
    `create index http_flow_tx on ${schema}.http_flow (tx)`,
    `create index http_flow_used on ${schema}.http_flow (used_at) where not (is_paused or is_parallelism_pinned or is_rate_pinned)`,
    `create table ${schema}.http_group (
      name text primary key,
      -- [{ name?, url }], in the order they were added.
      endpoints jsonb not null,
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp())`,
    // One row for each scheme, host and port that something was sent to. state 0 closed, 1 probing, 2 open; epoch is raised by each
    // change. A probe has until probe_at, then it is taken for lost.
    `create table ${schema}.http_destination (
      destination text primary key,
      state smallint not null default 0 check (state between 0 and 2),
      is_held boolean not null default false,
      epoch bigint not null default 0,
      probe_at timestamptz,
      failures int not null default 0,
      opened_at timestamptz,
      error text,
      last_attempt_at timestamptz,
      last_status smallint,
      tx xid8 not null default pg_current_xact_id()) with (fillfactor = 50)`,
    `create index http_destination_tx on ${schema}.http_destination (tx)`,
    `create index http_destination_open on ${schema}.http_destination (destination) where state <> 0 or is_held`,
  ];
}

/** Keys are sealed by the server's secret, tokens are hashed: neither can be read from here. */
function secretTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.http_signing_key (
      tenant text primary key,
      current text not null,
      next text not null,
      updated_at timestamptz not null default clock_timestamp())`,
    `create table ${schema}.http_token (
      id uuid primary key,
      name text not null,
      hash text not null unique,
      scopes jsonb not null,
      tenant text not null,
      created_at timestamptz not null default clock_timestamp(),
      last_used_at timestamptz)`,
  ];
}
