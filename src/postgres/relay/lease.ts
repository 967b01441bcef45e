import { HOUSE_UNIT, type RelaySession, type Survey, type Token } from '../../relay/relay-store.ts';
import type { Link } from '../driver/driver.ts';
import { sightOf } from './breaker.ts';
import { expireStatement } from './expire.ts';
import { numberList } from './number-list.ts';

// A row that is locked is passed over, and is looked at again.
const SHORTLY_MS = 20;

type LeaseActs = Pick<RelaySession<never>, 'beat' | 'survey' | 'acquire' | 'release' | 'leave' | 'doze' | 'rouse'>;

/** The liveness lock of this process, as its heartbeat tells the others. */
export interface HeldLock {
  /** Its key; nothing while it is not held. */
  key(): string | undefined;
  /** The database says that nobody holds it. */
  lost(): void;
}

/** Living, owning and leaving, over the connection of the heartbeat. All times are the database's. */
export function leaseActs(link: Link, schema: string, tellUnits: string, lock: HeldLock): LeaseActs {
  const statements = leaseStatements(schema, tellUnits);
  return {
    beat: async (workerId, leaseMs, running) => {
      const reports = running.map(({ id, unit, attempt, startedMsAgo }) => ({ id, unit, attempt, ago: startedMsAgo }));
      const rows = await link.query(statements.beat, [workerId, leaseMs, JSON.stringify(reports), lock.key() ?? null]);
      return rows.length > 0;
    },
    survey: async (workerId) => {
      const key = lock.key();
      const [expired] = await link.query(statements.expire, [workerId, key ?? null]);
      if (Number(expired?.[1]) === 1 && lock.key() === key) lock.lost();
      const [row] = await link.query(statements.survey, [workerId]);
      const survey = JSON.parse(row?.[0] as string) as Survey;
      const againInMs = expired?.[0] ?? undefined;
      return againInMs === undefined ? survey : { ...survey, againInMs: Math.max(SHORTLY_MS, Number(againInMs)) };
    },
    acquire: async (workerId, units) => {
      const rows = await link.query(statements.acquire, [workerId, ...tokens(units)]);
      return rows.map(([unit, epoch]) => ({ unit: Number(unit), epoch: Number(epoch) }));
    },
    release: async (workerId, units) => {
      await link.query(statements.release, [workerId, ...tokens(units)]);
    },
    leave: async (workerId) => {
      await link.query(statements.leave, [workerId]);
    },
    doze: async (workerId) => {
      await link.query(statements.doze, [workerId]);
    },
    rouse: async (workerId) => {
      await link.query(statements.rouse, [workerId]);
    },
  };
}

function tokens(list: readonly Token[]): [units: string, epochs: string] {
  return [numberList(list.map(({ unit }) => unit)), numberList(list.map(({ epoch }) => epoch))];
}

/** The statements of ownership, for one schema. `tellUnits` is a query that tells the others of units that are free. */
export function leaseStatements(
  schema: string,
  tellUnits: string,
): Readonly<Record<keyof LeaseActs | 'expire', string>> {
  const worker = '$1::text::uuid';
  const seen = `unnest($2::text::int[], $3::text::bigint[]) as t (unit, epoch)`;
  return {
    beat: `with alive as (
        update ${schema}.worker set expires_at = clock_timestamp() + $2::text::float8 * interval '1 millisecond',
          liveness_lock = $4::text::bigint, lock_missing_since = null
        where id = ${worker} returning id),
      told as materialized (
        select * from json_to_recordset($3::text::json) as r (id uuid, unit int, attempt int, ago float8)),
      ended as (
        delete from ${schema}.running r where r.worker = ${worker}
        and not exists (select from told t where t.id = r.id and t.unit = r.unit)),
      shown as (
        insert into ${schema}.running (id, unit, worker, attempt, started_at)
        select t.id, t.unit, alive.id, t.attempt, clock_timestamp() - t.ago * interval '1 millisecond'
        from told t, alive order by t.id, t.unit
        on conflict (id, unit) do update set worker = excluded.worker, attempt = excluded.attempt, started_at = excluded.started_at)
      select 1 from alive`,
    expire: expireStatement(schema, tellUnits),
    survey: surveyStatement(schema),
    // Free when it was looked at is not enough: it may have gained a live owner since, whom this snapshot does not know. The
    // epoch tells. Rows that somebody settles under are skipped, or two takeovers and a settle would wait in a circle.
    acquire: `with free as (
        select l.unit from ${schema}.lease l join ${seen} on t.unit = l.unit and t.epoch = l.epoch
        where exists (select from ${schema}.worker w where w.id = ${worker})
        order by l.unit for update of l skip locked)
      update ${schema}.lease l set owner = ${worker}, epoch = l.epoch + 1 from free where l.unit = free.unit
      returning l.unit, l.epoch`,
    release: `with mine as (
        select l.unit from ${schema}.lease l join ${seen} on t.unit = l.unit and t.epoch = l.epoch
        where l.owner = ${worker} order by l.unit for update of l),
      given as (update ${schema}.lease l set owner = null, epoch = l.epoch + 1 from mine where l.unit = mine.unit)
      ${tellUnits}`,
    leave: `with mine as (
        select l.unit from ${schema}.lease l where l.owner = ${worker} order by l.unit for update),
      given as (update ${schema}.lease l set owner = null, epoch = l.epoch + 1 from mine where l.unit = mine.unit),
      unseen as (delete from ${schema}.running where worker = ${worker}),
      awake as (delete from ${schema}.waiter where worker = ${worker}),
      gone as (delete from ${schema}.worker where id = ${worker})
      ${tellUnits}`,
    // Nobody who was buried meanwhile: nothing would ever take that row away. The lock makes a burial wait.
    doze: `insert into ${schema}.waiter (worker) select id from ${schema}.worker where id = ${worker} for key share
      on conflict do nothing`,
    rouse: `delete from ${schema}.waiter where worker = ${worker}`,
  };
}

function surveyStatement(schema: string): string {
  const worker = '$1::text::uuid';
  return `select json_build_object(
        'workers', coalesce((
          select json_agg(json_build_object('id', w.id, 'lanes', w.lanes) order by w.id) from ${schema}.worker w), '[]'),
        'owned', coalesce((
          select json_agg(json_build_object('unit', l.unit, 'epoch', l.epoch) order by l.unit)
          from ${schema}.lease l where l.owner = ${worker}), '[]'),
        'free', coalesce((
          select json_agg(json_build_object('unit', l.unit, 'epoch', l.epoch, 'isOrphaned', l.owner is not null) order by l.unit)
          from ${schema}.lease l
          where (l.owner is null or not exists (select from ${schema}.worker w where w.id = l.owner))
          and (l.unit = ${HOUSE_UNIT} or l.unit / (select units from ${schema}.meta) in (
            select unnest(w.lanes) from ${schema}.worker w where w.id = ${worker}))), '[]'),
        'pausedLanes', coalesce((
          select json_agg(n.id order by n.id) from ${schema}.lane n join ${schema}.handler h on h.id = n.handler
          where h.paused_at is not null or (select is_paused from ${schema}.meta)), '[]'),
        'limits', coalesce((
          select json_agg(json_build_object('lane', n.id, 'limit', h.run_limit) order by n.id)
          from ${schema}.lane n join ${schema}.handler h on h.id = n.handler where h.run_limit is not null), '[]'),
        'breakers', coalesce((
          select json_agg(${sightOf(schema)} order by b.name) from ${schema}.breaker b
          where b.epoch > 0 and b.service = (select w.service from ${schema}.worker w where w.id = ${worker})), '[]'))::text`;
}
