import type { Effects } from '../../kernel/effects.ts';
import { createSleep } from '../../kernel/sleep.ts';
import type { Lane, WorkerRegistration } from '../../relay/relay-store.ts';
import type { Link, Query } from '../driver/driver.ts';
import { numberList } from './number-list.ts';
import { adopt, adoptStatements, type AdoptStatements, registryLock } from './adopt.ts';

/** How many waiting messages are adopted in one transaction. */
const ADOPT_AT_ONCE = 10_000;
/** How long a new lane waits for transactions that may have sent past it. One that was forgotten must not keep it closed. */
const PATIENCE_MS = 5_000;
const LOOK_EVERY_MS = 10;

type RegisterStatements = Readonly<
  Record<
    | 'lock'
    | 'knownHandlers'
    | 'newHandlers'
    | 'breakers'
    | 'subscriptions'
    | 'newLanes'
    | 'lanes'
    | 'closed'
    | 'newest'
    | 'areOver'
    | 'leases'
    | 'worker',
    string
  >
>;

/** Registering, for one schema, over a connection of its own. */
export function registerAct(
  link: Link,
  schema: string,
  tellUnits: string,
  effects: Effects,
  livenessLock: () => string | undefined,
): (worker: WorkerRegistration) => Promise<readonly Lane[]> {
  const statements = registerStatements(schema, tellUnits);
  const adoption = adoptStatements(schema);
  return async (worker) => {
    const { id, name, service, generation, leaseMs } = worker;
    const { lanes, closed } = await link.transaction((query) => makeKnown(query, statements, adoption, worker));
    if (closed.length > 0) {
      await untilSendersKnow(link, statements, effects);
      await openLanes(link, statements, adoption, closed);
    }
    const ids = numberList(lanes.map(({ lane }) => lane));
    await link.query(statements.worker, [id, name, service, generation ?? null, ids, leaseMs, livenessLock() ?? null]);
    return lanes;
  };
}

/** `tellUnits` tells the others that one has come. $1: the service · $2: the handlers as JSON · $3: the generation of the worker. */
function registerStatements(schema: string, tellUnits: string): RegisterStatements {
  const told = `json_to_recordset($2::text::json) as t (name text, pinned boolean, repeatable boolean, types text[],
    breaker text, failures int)`;
  const mine = `${told} join ${schema}.handler h on h.service = $1::text and h.name = t.name`;
  const units = `(select units from ${schema}.meta)`;
  const generation = `case when t.pinned then $3::text::bigint end`;
  return {
    // Ids are counted by hand, so that they stay small and have no gaps: two at once would count the same.
    lock: `select ${registryLock(schema)}::text`,
    knownHandlers: `update ${schema}.handler h set is_pinned = t.pinned, is_repeatable = t.repeatable, breaker = t.breaker,
        registered_at = now() from ${told}
      where h.service = $1::text and h.name = t.name`,
    newHandlers: `insert into ${schema}.handler (id, service, name, is_pinned, is_repeatable, breaker)
      select (select coalesce(max(id), 0) from ${schema}.handler) + row_number() over (order by t.name), $1::text, t.name, t.pinned,
        t.repeatable, t.breaker
      from ${told} where not exists (select from ${schema}.handler h where h.service = $1::text and h.name = t.name)`,
    breakers: `insert into ${schema}.breaker (service, name, failures)
      select $1::text, t.breaker, min(t.failures) from ${told} where t.breaker is not null group by t.breaker order by t.breaker
      on conflict (service, name) do update set failures = excluded.failures`,
    // Types that this worker does not take stay: a newer release may, and what is sent meanwhile must reach it.
    subscriptions: `insert into ${schema}.subscription (type, handler, is_pinned)
      select type, h.id, t.pinned from ${mine} cross join unnest(t.types) as type
      on conflict (type, handler) do update set is_pinned = excluded.is_pinned`,
    newLanes: `insert into ${schema}.lane (id, handler, generation)
      select (select coalesce(max(id), 0) from ${schema}.lane) + row_number() over (order by h.id), h.id, ${generation}
      from ${mine} where not exists (
        select from ${schema}.lane l where l.handler = h.id and l.generation is not distinct from ${generation})`,
    worker: `with joined as (
        insert into ${schema}.worker (id, name, service, generation, lanes, expires_at, lease_ms, liveness_lock)
        values ($1::text::uuid, $2::text, $3::text, $4::text::bigint, $5::text::smallint[],
          clock_timestamp() + $6::text::float8 * interval '1 millisecond', ceil($6::text::float8), $7::text::bigint)
        on conflict (id) do update set lanes = excluded.lanes, expires_at = excluded.expires_at,
          liveness_lock = excluded.liveness_lock, lock_missing_since = null)
      ${tellUnits}`,
    lanes: `select l.id, h.name, h.id, ${units} from ${mine} join ${schema}.lane l on l.handler = h.id
        and l.generation is not distinct from ${generation} order by l.id`,
    // A lane that nobody can own yet.
    closed: `select l.id from ${schema}.lane l where l.id = any ($1::text::smallint[])
      and not exists (select from ${schema}.lease s where s.unit = l.id * ${units})`,
    newest: `select pg_current_xact_id()::text`,
    areOver: `select (pg_snapshot_xmin(pg_current_snapshot()) > $1::text::xid8)::int`,
    leases: `insert into ${schema}.lease (unit) select l.id * ${units} + bucket
      from ${schema}.lane l cross join generate_series(0, ${units} - 1) as bucket
      where l.id = any ($1::text::smallint[]) on conflict do nothing`,
  };
}

/** Makes handlers, what they take and their lanes known to senders, and gives them what waited. */
async function makeKnown(
  query: Query,
  statements: RegisterStatements,
  adoption: AdoptStatements,
  { service, generation, handlers }: WorkerRegistration,
): Promise<{ readonly lanes: readonly Lane[]; readonly closed: readonly number[] }> {
  const told = handlers.map((handler) => ({
    name: handler.name,
    pinned: handler.isPinned,
    repeatable: handler.isRepeatable,
    breaker: handler.breaker?.name,
    failures: handler.breaker?.failures,
    types: handler.types,
  }));
  const known = [service, JSON.stringify(told)] as const;
  const pinnedTo = generation ?? null;
  await query(statements.lock, []);
  await query(statements.knownHandlers, known);
  await query(statements.newHandlers, known);
  await query(statements.breakers, known);
  await query(statements.subscriptions, known);
  await query(statements.newLanes, [...known, pinnedTo]);
  const lanes = (await query(statements.lanes, [...known, pinnedTo])).map(
    ([lane, handler, handlerId, units]): Lane => ({
      lane: Number(lane),
      handler: handler as string,
      handlerId: Number(handlerId),
      firstUnit: Number(lane) * Number(units),
      unitCount: Number(units),
    }),
  );
  const closed = await query(statements.closed, [numberList(lanes.map(({ lane }) => lane))]);
  await adopt(query, adoption, ADOPT_AT_ONCE);
  return { lanes, closed: closed.map(([lane]) => Number(lane)) };
}

/**
 * Waits until every transaction is over that may have sent without knowing of the new lanes: its message is in lane 0 then, and
 * can be given its place before what was sent after it.
 */
async function untilSendersKnow(link: Link, statements: RegisterStatements, effects: Effects): Promise<void> {
  const sleep = createSleep(effects);
  const untilMs = effects.monoMs() + PATIENCE_MS;
  // Of a transaction of its own, after the lanes were committed: whoever began to write before has a lower one.
  const [newest] = await link.query(statements.newest, []);
  while (effects.monoMs() < untilMs) {
    const [row] = await link.query(statements.areOver, [newest?.[0] as string]);
    if (Number(row?.[0]) === 1) return;
    await sleep(LOOK_EVERY_MS);
  }
}

/** Lets workers own the lanes, once all that waited for them has been adopted. */
async function openLanes(
  link: Link,
  statements: RegisterStatements,
  adoption: AdoptStatements,
  closed: readonly number[],
): Promise<void> {
  const openIfAllAdopted = async (query: Query): Promise<boolean> => {
    await query(statements.lock, []);
    if ((await adopt(query, adoption, ADOPT_AT_ONCE)) >= ADOPT_AT_ONCE) return false;
    await query(statements.leases, [numberList(closed)]);
    return true;
  };
  while (!(await link.transaction(openIfAllAdopted)));
}
