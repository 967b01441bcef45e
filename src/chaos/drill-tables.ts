/**
 * What senders and handlers of a drill write, beside the tables of the engine, for a quoted schema. `drill_sent` in the transaction of the
 * send, so that it holds exactly what was committed. Neither table has a unique key on what is written once, so that a second row or a second
 * effect is there to be counted.
 */
export function drillTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.drill_sent (place bigint generated always as identity, key text not null, n int not null, kind text not null,
      id uuid not null, at timestamptz not null default clock_timestamp())`,
    `create index drill_sent_of on ${schema}.drill_sent (key, n)`,
    `create table ${schema}.drill_effect (place bigint generated always as identity, handler text not null, key text not null,
      n int not null, worker text not null, at timestamptz not null default clock_timestamp())`,
    `create index drill_effect_of on ${schema}.drill_effect (key, n, handler)`,
    // Filled when the cause of what is mended later has gone.
    `create table ${schema}.drill_mended (at timestamptz not null default clock_timestamp())`,
  ];
}

/** Statements of the processes of a drill. */
export function drillStatements(schema: string): Readonly<Record<'sent' | 'effect' | 'isMended' | 'reached', string>> {
  return {
    sent: `insert into ${schema}.drill_sent (key, n, kind, id)
      select * from unnest($1::text[], $2::int[], $3::text[], $4::uuid[]) returning place::text as place`,
    effect: `insert into ${schema}.drill_effect (handler, key, n, worker) values ($1, $2, $3, $4)`,
    isMended: `select 1 as one from ${schema}.drill_mended limit 1`,
    reached: `select key, max(n)::int as n from ${schema}.drill_sent group by key`,
  };
}

/** Effects that are expected: of each handler for each message that is not poison. `$1` is the handlers. */
function expectedEffects(schema: string): string {
  return `(select s.key, s.n, h.handler from ${schema}.drill_sent s cross join unnest($1::text[]) as h (handler)
    where s.kind <> 'poison')`;
}

/** Counting, for one schema. All of them answer one row with `count`. */
export function countStatements(
  schema: string,
): Readonly<
  Record<
    | 'sent'
    | 'secondRows'
    | 'messages'
    | 'messageless'
    | 'rowless'
    | 'effects'
    | 'lost'
    | 'second'
    | 'invented'
    | 'outOfOrder',
    string
  >
> {
  const messages = `(select id from ${schema}.delivered union select id from ${schema}.delivery)`;
  return {
    sent: `select count(*) from ${schema}.drill_sent`,
    secondRows: `select count(*) - count(distinct (key, n)) as count from ${schema}.drill_sent`,
    messages: `select count(*) from ${messages} m`,
    messageless: `select count(*) from ${schema}.drill_sent s where s.id not in ${messages}`,
    rowless: `select count(*) from ${messages} m where m.id not in (select id from ${schema}.drill_sent)`,
    effects: `select count(*) from ${schema}.drill_effect`,
    lost: `select count(*) from ${expectedEffects(schema)} s
      where not exists (select from ${schema}.drill_effect e where e.key = s.key and e.n = s.n and e.handler = s.handler)`,
    second: `select count(*) - count(distinct (handler, key, n)) as count from ${schema}.drill_effect`,
    // Of what was never committed, and of poison, which has none.
    invented: `select count(*) from ${schema}.drill_effect e left join ${schema}.drill_sent s using (key, n)
      where s.n is null or s.kind = 'poison'`,
    // What is mended later comes back when the others of its key have passed: it has no place in the order any more.
    outOfOrder: `select count(*) from (
        select e.n, max(e.n) over (partition by e.handler, e.key order by e.place rows unbounded preceding) as most
        from ${schema}.drill_effect e join ${schema}.drill_sent s using (key, n) where s.kind <> 'mended') e
      where n < most`,
  };
}

/** Dead letters of these engines beside what they should be. `$1` is the handlers, `$2` the kinds that must be dead. */
export function deadStatement(schema: string, engines: readonly string[]): string {
  const dead = engines.map(
    (engine) => `select d.id, h.name as handler from ${engine}.delivery d join ${engine}.handler h on h.id = d.handler
      where d.state = 2`,
  );
  return `with wanted as (select s.id, h.handler from ${schema}.drill_sent s cross join unnest($1::text[]) as h (handler)
      where s.kind = any ($2::text[])),
    dead as (${dead.join(' union all ')})
    select (select count(*) from dead) as dead, (select count(*) from wanted) as wanted,
      (select count(*) from wanted w where not exists (select from dead d where d.id = w.id and d.handler = w.handler)) as missing,
      (select count(*) from dead d where not exists (select from wanted w where w.id = d.id and w.handler = d.handler)) as strange`;
}
