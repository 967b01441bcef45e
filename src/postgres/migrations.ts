/** One step of the schema, forward only. Once released it never changes; a test compares what was released. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The statements, for the schema whose quoted name is given. */
  readonly statements: (schema: string) => readonly string[];
}

// A message with something left to do. How rows are stored is ours to change; people read the view `outbox`.
//   tx     the transaction that made the row ready; a reader needs it to find rows that became visible below its cursor
//   seq    its place in line; a scheduled message takes a new one when it is due
//   unit   the slice of the key space it belongs to: one owner at a time, so order within a key follows from ownership
//   state  0 ready · 1 only separate runs are left · 2 scheduled
const message = (schema: string): readonly string[] => [
  `create sequence ${schema}.message_seq`,
  `create table ${schema}.message (
    id uuid primary key,
    tx xid8 not null default pg_current_xact_id(),
    seq bigint not null default nextval('${schema}.message_seq'),
    unit smallint not null,
    state smallint not null default 0 check (state in (0, 1, 2)),
    version int not null default 0,
    type text not null,
    key text,
    payload jsonb not null,
    idempotency_key text not null,
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
    due_at timestamptz,
    created_at timestamptz not null default now(),
    check ((state = 2) = (due_at is not null))
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)`,
  `create index message_stream on ${schema}.message (unit, seq) where state = 0`,
  `create index message_late on ${schema}.message (tx) where state = 0`,
  `create index message_due on ${schema}.message (unit, due_at) where state = 2`,
];

/** All steps, in order. */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'outbox',
    statements: (schema) => [
      `create table ${schema}.meta (one boolean primary key default true check (one), units smallint not null check (units between 2 and 1024))`,
      `insert into ${schema}.meta (units) values (64)`,
      ...message(schema),
      // Explicit idempotency keys only: a message without one is told apart by its id, and nothing is compared.
      `create table ${schema}.dedup (key text primary key, id uuid not null, expires_at timestamptz not null)`,
      `create index dedup_expiry on ${schema}.dedup (expires_at)`,
      // Who sleeps and wants to be woken. Unlogged: after a crash it is empty, and sleepers register again.
      `create unlogged table ${schema}.waiter (worker uuid primary key)`,
      `create view ${schema}.outbox as
        select id, type, key, payload, idempotency_key, source, target, aggregate_type, aggregate_id, generation,
          correlation_id, causation_id, traceparent, tracestate, headers, 'pending'::text as status, due_at, created_at
        from ${schema}.message`,
    ],
  },
];
