/** What stands between handlers and what they depend on. One row for each name of a service; its handlers name it. */
export function breakerTable(schema: string): readonly string[] {
  return [
    `create table ${schema}.breaker (
      service text not null,
      name text not null,
      failures int not null,
      -- 0 closed, 1 probing, 2 open.
      state smallint not null default 0 check (state between 0 and 2),
      since timestamptz,
      -- Raised by each change, so that nobody decides over what he has not seen.
      epoch bigint not null default 0,
      -- Held open by hand: no message is tried.
      is_held boolean not null default false,
      probe_at timestamptz,
      probes int not null default 0,
      -- The worker that tries a message. One that is no worker any more tries nothing.
      prober uuid,
      error jsonb,
      changed_at timestamptz,
      actor text,
      reason text,
      primary key (service, name))`,
  ];
}

/** Nothing is counted further than this. */
const MAX_WAITING = 10_000;

/**
 * How many messages are ready for the handlers behind a breaker. A function of its own: hundreds of looks into an index are taken for dear
 * enough to be compiled, which takes seconds on a database that is all but empty.
 */
export function breakerFunctions(schema: string): readonly string[] {
  return [
    `create function ${schema}.breaker_waiting(p_service text, p_name text) returns bigint language sql stable
      set jit = off set enable_seqscan = off as $body$
      select count(*) from (
        select from ${schema}.handler h join ${schema}.lane l on l.handler = h.id, ${schema}.meta m,
          generate_series(0, m.units - 1) bucket,
          lateral (select from ${schema}.delivery d where d.unit = l.id * m.units + bucket and d.state = 0 limit ${MAX_WAITING}) d
        where h.service = p_service and h.breaker = p_name limit ${MAX_WAITING}) waiting
    $body$`,
  ];
}
