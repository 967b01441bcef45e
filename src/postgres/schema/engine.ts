/**
 * What the engine keeps about itself: who handles what, who lives, who owns which unit.
 *
 * A *lane* is where the messages of one handler (or of one handler in one generation) stand in line; a *unit* is one slice of
 * its key space: unit = lane × units + bucket. Lane 0 is nobody's: messages without a handler, or whose generation has no
 * worker, wait there, and nobody reads it.
 */
export function enginePrivates(schema: string): readonly string[] {
  return [
    `create table ${schema}.meta (
      one boolean primary key default true check (one),
      units smallint not null default 32 check (units between 2 and 1024),
      slot smallint not null default 0 check (slot between 0 and 7),
      slot_since timestamptz not null default now(),
      -- Deliveries of messages that were sent before may have been finished and forgotten.
      forgotten_until timestamptz,
      is_paused boolean not null default false,
      is_full boolean not null default false)`,
    `insert into ${schema}.meta default values`,
    `create table ${schema}.handler (
      id smallint primary key,
      service text not null,
      name text not null,
      is_pinned boolean not null default false,
      is_repeatable boolean not null default false,
      paused_at timestamptz,
      -- What it stands behind, and how many may run at once in each process if an operator says so.
      breaker text,
      run_limit int check (run_limit > 0),
      registered_at timestamptz not null default now(),
      unique (service, name))`,
    // Which handler takes which type. Every send reads it.
    `create table ${schema}.subscription (
      type text not null,
      handler smallint not null references ${schema}.handler on delete cascade,
      is_pinned boolean not null,
      primary key (type, handler))`,
    `create table ${schema}.lane (
      id smallint primary key check (id > 0),
      handler smallint not null references ${schema}.handler on delete cascade,
      generation bigint)`,
    `create unique index lane_of on ${schema}.lane (handler, coalesce(generation, -1))`,
    `create table ${schema}.worker (
      id uuid primary key,
      name text not null,
      service text not null,
      generation bigint,
      lanes smallint[] not null,
      joined_at timestamptz not null default clock_timestamp(),
      expires_at timestamptz not null,
      lease_ms int,
      -- A session-level advisory lock that its process holds on a connection of its own: free, its process is gone. Null: only the lease counts.
      liveness_lock bigint,
      lock_missing_since timestamptz)`,
    // Changed only when ownership changes; the heartbeat is on worker. That keeps "for share" cheap and free of false conflicts.
    `create table ${schema}.lease (unit int primary key, owner uuid, epoch bigint not null default 0) with (fillfactor = 50)`,
    `insert into ${schema}.lease (unit) values (-1)`,
    // "Look again", from operators to the owner of a unit. A counter and not a list: a list read by id loses late commits.
    `create table ${schema}.poke (unit int primary key, n bigint not null default 0) with (fillfactor = 50)`,
    // Unlogged: after a crash of the database they are empty. Nothing but speed and display depends on them.
    `create unlogged table ${schema}.waiter (worker uuid primary key)`,
    `create unlogged table ${schema}.running (
      id uuid not null, unit int not null, worker uuid not null, attempt int not null, started_at timestamptz not null,
      primary key (id, unit))`,
  ];
}
