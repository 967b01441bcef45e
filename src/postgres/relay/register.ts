import type { Lane, WorkerRegistration } from '../../relay/relay-store.ts';
import type { Link, Query } from '../driver/driver.ts';
import { numberList } from './number-list.ts';
import { adopt, adoptStatements, type AdoptStatements } from './adopt.ts';

/** How many waiting messages are adopted in the transaction that makes their handler known; the others follow in later ones. */
const ADOPT_AT_ONCE = 10_000;

type RegisterStatements = Readonly<
  Record<
    'lock' | 'knownHandlers' | 'newHandlers' | 'subscriptions' | 'newLanes' | 'leases' | 'worker' | 'lanes',
    string
  >
>;

/** Registering, for one schema, over a connection of its own. */
export function registerAct(link: Link, schema: string): (worker: WorkerRegistration) => Promise<readonly Lane[]> {
  const statements = registerStatements(schema);
  const adoption = adoptStatements(schema);
  return (worker) => link.transaction((query) => register(query, statements, adoption, worker));
}

/** $1: the service · $2: the handlers as JSON · $3: the generation of the worker. */
function registerStatements(schema: string): RegisterStatements {
  const told = `json_to_recordset($2::text::json) as t (name text, pinned boolean, repeatable boolean, types text[])`;
  const mine = `${told} join ${schema}.handler h on h.service = $1::text and h.name = t.name`;
  const units = `(select units from ${schema}.meta)`;
  const generation = `case when t.pinned then $3::text::bigint end`;
  return {
    // Ids are counted by hand, so that they stay small and have no gaps: two at once would count the same.
    lock: `select pg_advisory_xact_lock(hashtextextended('holdfast register ${schema}', 0))::text`,
    knownHandlers: `update ${schema}.handler h set is_pinned = t.pinned, is_repeatable = t.repeatable, registered_at = now() from ${told}
      where h.service = $1::text and h.name = t.name`,
    newHandlers: `insert into ${schema}.handler (id, service, name, is_pinned, is_repeatable)
      select (select coalesce(max(id), 0) from ${schema}.handler) + row_number() over (order by t.name), $1::text, t.name, t.pinned,
        t.repeatable
      from ${told} where not exists (select from ${schema}.handler h where h.service = $1::text and h.name = t.name)`,
    // Types that this worker does not take stay: a newer release may, and what is sent meanwhile must reach it.
    subscriptions: `insert into ${schema}.subscription (type, handler, is_pinned)
      select type, h.id, t.pinned from ${mine} cross join unnest(t.types) as type
      on conflict (type, handler) do update set is_pinned = excluded.is_pinned`,
    newLanes: `insert into ${schema}.lane (id, handler, generation)
      select (select coalesce(max(id), 0) from ${schema}.lane) + row_number() over (order by h.id), h.id, ${generation}
      from ${mine} where not exists (
        select from ${schema}.lane l where l.handler = h.id and l.generation is not distinct from ${generation})`,
    leases: `insert into ${schema}.lease (unit) select l.id * ${units} + bucket
      from ${schema}.lane l cross join generate_series(0, ${units} - 1) as bucket
      where l.id = any ($1::text::smallint[]) on conflict do nothing`,
    worker: `insert into ${schema}.worker (id, name, service, generation, lanes, expires_at)
      values ($1::text::uuid, $2::text, $3::text, $4::text::bigint, $5::text::smallint[],
        clock_timestamp() + $6::text::float8 * interval '1 millisecond')
      on conflict (id) do update set lanes = excluded.lanes, expires_at = excluded.expires_at`,
    lanes: `select l.id, h.name, ${units} from ${mine} join ${schema}.lane l on l.handler = h.id
        and l.generation is not distinct from ${generation} order by l.id`,
  };
}

async function register(
  query: Query,
  statements: RegisterStatements,
  adoption: AdoptStatements,
  { id, name, service, generation, handlers, leaseMs }: WorkerRegistration,
): Promise<readonly Lane[]> {
  const told = handlers.map((handler) => ({
    name: handler.name,
    pinned: handler.isPinned,
    repeatable: handler.isRepeatable,
    types: handler.types,
  }));
  const known = [service, JSON.stringify(told)] as const;
  const pinnedTo = generation ?? null;
  await query(statements.lock, []);
  await query(statements.knownHandlers, known);
  await query(statements.newHandlers, known);
  await query(statements.subscriptions, known);
  await query(statements.newLanes, [...known, pinnedTo]);
  const lanes = (await query(statements.lanes, [...known, pinnedTo])).map(([lane, handler, units]): Lane => ({
    lane: Number(lane),
    handler: handler as string,
    firstUnit: Number(lane) * Number(units),
    unitCount: Number(units),
  }));
  const ids = numberList(lanes.map(({ lane }) => lane));
  await query(statements.leases, [ids]);
  await query(statements.worker, [id, name, service, pinnedTo, ids, leaseMs]);
  // In the same transaction: whoever sends after it stands behind those that waited.
  await adopt(query, adoption, ADOPT_AT_ONCE);
  return lanes;
}
