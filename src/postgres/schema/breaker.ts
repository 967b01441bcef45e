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
