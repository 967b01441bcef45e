/**
 * The columns of the envelope, alike in open and finished deliveries and in this order. Without an idempotency key or a correlation
 * id of its own a message's id is both: then they are null, which saves an eighth of what a message writes to the log.
 */
export const ENVELOPE_COLUMNS = `type, key, payload, idempotency_key, source, target, aggregate_type, aggregate_id, generation,
    correlation_id, causation_id, traceparent, tracestate, headers, created_at`;

const ENVELOPE = `
    type text not null,
    key text,
    payload jsonb not null,
    idempotency_key text,
    source text not null,
    target text,
    aggregate_type text,
    aggregate_id text,
    generation bigint,
    correlation_id text,
    causation_id text,
    traceparent text,
    tracestate text,
    headers jsonb,
    created_at timestamptz not null default now()`;

/** How many slots the ring of finished deliveries has. */
export const HISTORY_SLOTS = 8;

/** How far two places in line are apart: between them is room for the others of a message that is given to several handlers later. */
export const SEQ_STEP = 64;

/**
 * Where messages are. How rows are stored is ours to change; people read the views `outbox` and `dead_letters`.
 *
 * `delivery`: one (message, handler) with something left to do.
 *   handler  0: no handler is known for the type
 *   unit     the slice of its lane's key space: one owner at a time, so order within a key follows from ownership
 *   state    0 ready, in the stream · 1 waiting for due_at (a retry, or scheduled by the sender) · 2 failed, a dead letter
 *   seq      its place in line
 *   tx       the transaction that made the row ready: a reader needs it to find rows that became visible below its cursor.
 *            Whoever puts a row into the stream writes it
 *   version  raised by each edit of the payload, so that work on what was before is refused
 *   holds    later messages of its key wait behind it
 *   starts   how often it was started by a process that died, as far as that was marked
 *   faults   how many runs of it in a row lost their way to the database, and how heavily they count
 *   cycle    raised by each replay · rerun: raised when a handler that had succeeded is run again on purpose
 *   ran_at   when the last attempt that failed had begun
 *   taken_as what it waits to be taken as while no handler is known, where that is not its type
 *   mirrored the last cycle of whose end a copy was made elsewhere
 * due_at is set in state 1 alone, failed_at in state 2 alone, and nothing holds in state 0. One constraint says it all: PostgreSQL
 * prepares each of them anew for every statement, five cost a send 15 µs.
 */
export function messageTables(schema: string): readonly string[] {
  return [
    `create sequence ${schema}.delivery_seq increment by ${SEQ_STEP}`,
    `create table ${schema}.delivery (
    id uuid not null,
    handler smallint not null,
    unit int not null,
    state smallint not null default 0,
    seq bigint not null default nextval('${schema}.delivery_seq'),
    tx xid8 not null default pg_current_xact_id(),
    version int not null default 0,
    holds boolean not null default false,
    starts smallint not null default 0,
    attempts int not null default 0,
    cycle int not null default 0,
    rerun int not null default 0,${ENVELOPE},
    due_at timestamptz,
    retry jsonb,
    faults jsonb,
    error jsonb,
    first_failed_at timestamptz,
    failed_at timestamptz,
    ran_at timestamptz,
    failure_history jsonb not null default '[]',
    taken_as text,
    mirrored int not null default -1,
    primary key (id, handler),
    check (case state when 0 then due_at is null and failed_at is null and not holds
      when 1 then due_at is not null and failed_at is null
      when 2 then due_at is null and failed_at is not null else false end)
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)`,
    `create index delivery_line on ${schema}.delivery (unit, state, seq)`,
    `create index delivery_late on ${schema}.delivery (tx) where state = 0`,
    `create index delivery_due on ${schema}.delivery (unit, due_at) where state = 1`,
    `create index delivery_holds on ${schema}.delivery (unit, key) where holds`,
    `create index delivery_failed on ${schema}.delivery (failed_at) where state = 2`,
    `create index delivery_unmirrored on ${schema}.delivery (unit) where state = 2 and mirrored < cycle`,
    // What waits for a handler to become known. Empty as a rule.
    `create index delivery_unknown on ${schema}.delivery (coalesce(taken_as, type), seq) where handler = 0`,
    ...keptTables(schema),
  ];
}

/** Where finished messages are, and what is remembered of those that came. */
function keptTables(schema: string): readonly string[] {
  return [
    // Finished deliveries, a ring: the oldest slot is truncated, which needs no vacuum and holds up nobody who settles.
    `create table ${schema}.delivered (
    slot smallint not null,
    id uuid not null,
    handler smallint not null,
    outcome smallint not null check (outcome in (0, 1, 2)),
    version int not null,
    attempts int not null,
    cycle int not null,
    rerun int not null,
    -- Its place in line when it was handled: what is published again keeps the order by it.
    seq bigint,
    duration_ms int,
    done_at timestamptz not null default clock_timestamp(),
    first_failed_at timestamptz,
    error jsonb,
    failure_history jsonb not null default '[]',
    reason text,
    actor text,${ENVELOPE}
  ) partition by list (slot)`,
    ...Array.from({ length: HISTORY_SLOTS }, (_, slot) => [
      `create table ${schema}.delivered_${slot} partition of ${schema}.delivered for values in (${slot})`,
      `create index delivered_${slot}_id on ${schema}.delivered_${slot} (id)`,
    ]).flat(),
    // What a slot has that grows no more, so that it is counted once.
    `create table ${schema}.history_count (
    slot smallint not null,
    handler smallint not null,
    delivered bigint not null,
    primary key (slot, handler)
  )`,
    // Explicit idempotency keys only: a message without one is told apart by its id, and nothing is compared.
    `create table ${schema}.dedup (key text primary key, id uuid not null, expires_at timestamptz not null)`,
    `create index dedup_expiry on ${schema}.dedup (expires_at)`,
    // Messages that came from elsewhere, by who received them: two services on one database get their own copies. source_id is where
    // it was found first: kafka:topic@partition@offset, amqp:exchange@routingKey@id.
    `create table ${schema}.inbox (
    taken_as text not null,
    id uuid not null,
    source_id text not null,
    first_at timestamptz not null default clock_timestamp(),
    last_at timestamptz not null default clock_timestamp(),
    times int not null default 1,
    expires_at timestamptz not null,
    primary key (id, taken_as))`,
    `create index inbox_expiry on ${schema}.inbox (expires_at)`,
  ];
}
