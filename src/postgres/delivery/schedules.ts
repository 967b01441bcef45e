import { type Cron, parseCron } from '../../delivery/cron.ts';
import { nextTime } from '../../delivery/cron-time.ts';
import type { ScheduleInput, ScheduleOutcome, ScheduleRecord, Schedules } from '../../delivery/schedules.ts';
import { storedName } from '../../delivery/tenants.ts';
import type { ChangedBy } from '../../delivery/webhook-endpoints.ts';
import type { Effects } from '../../kernel/effects.ts';
import { newId } from '../../system/new-id.ts';
import { type Fields, readJson, readRecord } from '../operator/read-record.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { audited, auditParams } from './audited.ts';
import { isTenants } from './tenant-sql.ts';
import { callbackProblem, makeMessages, storable } from './make-messages.ts';
import { groupOf, groupsOf, type PublishRules } from './publish.ts';
import { fireSchedules } from './fire-schedules.ts';
import { handlerOf } from './line-waiting.ts';
import { shownRequest } from './shown-request.ts';

/** Made to see whether they can be: without their bodies, of which a group would have many. */
const CHECKED_ONLY = { at: 0, bytes: 0 };

const GOOD_ID = /^[\w.-]{1,200}$/;

/** What schedules are told by the server's settings. */
export interface ScheduleRules extends PublishRules {
  readonly effects: Effects;
}

interface ScheduleChange {
  readonly now: Date;
  readonly by: ChangedBy | undefined;
}

function entryOf(
  by: ChangedBy | undefined,
  scheduleId: string,
  change: string,
  details: Readonly<Record<string, unknown>> = {},
): readonly SqlParam[] {
  return auditParams(by, 'change-schedule', { scheduleId, change, ...details });
}

/** Schedules. Each change is one statement, each time that comes too: with its messages. */
export function schedules(sql: SqlRunner, schema: string, rules: ScheduleRules): Schedules {
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  const now = (): Date => new Date(rules.effects.now().wallMs);
  const remove = audited(schema, `delete from ${schema}.http_schedule where id = $1::text returning id`, 2);
  const pause = audited(
    schema,
    `update ${schema}.http_schedule set is_paused = true where id = $1::text returning id`,
    2,
  );
  const change = async (statement: string, scheduleId: string, what: string, by?: ChangedBy): Promise<boolean> =>
    (await sql.query(statement, [scheduleId, ...entryOf(by, scheduleId, what)])).length > 0;
  return {
    put: async (input, by) => {
      const outcome = await put(sql, schema, rules, input, { now: now(), by });
      if (outcome.kind === 'scheduled') changed();
      return outcome;
    },
    get: async (scheduleId) => (await read(sql, schema, scheduleId))[0],
    list: (tenant) => read(sql, schema, undefined, tenant),
    delete: (scheduleId, by) => change(remove, scheduleId, 'delete', by),
    pause: (scheduleId, by) => change(pause, scheduleId, 'pause', by),
    resume: async (scheduleId, by) => {
      const isThere = await resume(sql, schema, scheduleId, { now: now(), by });
      if (isThere) changed();
      return isThere;
    },
    fire: (at) => fireSchedules(sql, schema, rules, at),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

async function put(
  sql: SqlRunner,
  schema: string,
  rules: ScheduleRules,
  given: ScheduleInput,
  { now, by }: ScheduleChange,
): Promise<ScheduleOutcome> {
  const { scheduleId: givenId = `scd_${newId().replaceAll('-', '')}`, ...rest } = given;
  const input = { ...rest, cron: rest.cron.trim(), delivery: storable(rest.delivery) };
  if (!GOOD_ID.test(givenId)) {
    return refused(
      'the id of a schedule has 1 to 200 letters, digits, dots, - and _: write such a one, or leave it out',
    );
  }
  const scheduleId = storedName(input.delivery.tenant, givenId);
  const reading = parseCron(input.cron);
  if (reading.kind === 'refused') return reading;
  const groups = await groupsOf(sql, schema, [input]);
  const made =
    callbackProblem(input.delivery, rules) ??
    makeMessages({ ...input, notBefore: undefined }, groups.get(groupOf(input) ?? ''), rules, CHECKED_ONLY);
  if ('kind' in made) return refused(made.message);
  const schedulePut = audited(
    schema,
    `insert into ${schema}.http_schedule as s (id, input, next_at) values ($1::text, $2::text::jsonb, $3::text::timestamptz)
    on conflict (id) do update set input = excluded.input, last_error = null,
      next_at = case when s.input ->> 'cron' = excluded.input ->> 'cron' and not s.is_paused then s.next_at else excluded.next_at end
    returning id`,
    4,
  );
  const entry = entryOf(by, scheduleId, 'put', { cron: input.cron, to: input.to });
  await sql.query(schedulePut, [scheduleId, JSON.stringify(input), nextText(reading.cron, now), ...entry]);
  return { kind: 'scheduled', scheduleId };
}

async function resume(
  sql: SqlRunner,
  schema: string,
  scheduleId: string,
  { now, by }: ScheduleChange,
): Promise<boolean> {
  const scheduleCron = `select input ->> 'cron' as cron from ${schema}.http_schedule where id = $1::text`;
  const [row] = await sql.query(scheduleCron, [scheduleId]);
  if (row === undefined) return false;
  const reading = parseCron(String(row['cron']));
  const next = reading.kind === 'cron' ? nextText(reading.cron, now) : null;
  // One that is not paused keeps a time that is due.
  const scheduleResume = audited(
    schema,
    `update ${schema}.http_schedule set is_paused = false,
      next_at = case when is_paused and input ->> 'cron' = $3::text then $2::text::timestamptz else next_at end
    where id = $1::text returning id`,
    4,
  );
  const params = [scheduleId, next, String(row['cron']), ...entryOf(by, scheduleId, 'resume')];
  return (await sql.query(scheduleResume, params)).length > 0;
}

function nextText(cron: Cron, after: Date): string | null {
  const next = nextTime(cron, after.getTime());
  return next === undefined ? null : new Date(next).toISOString();
}

async function read(
  sql: SqlRunner,
  schema: string,
  scheduleId: string | undefined,
  tenant?: string,
): Promise<readonly ScheduleRecord[]> {
  const scheduleRead = `select s.input::text as input, json_build_object('scheduleId', s.id, 'createdAt', s.created_at,
      'isPaused', s.is_paused, 'lastAt', s.last_at, 'nextAt', s.next_at, 'lastError', s.last_error, 'lastStates', coalesce((
        select json_object_agg(m.id, case when d.state = 2 then 'FAIL' when d.id is not null then 'IN_PROGRESS'
          when e.outcome = 0 then 'SUCCESS' else 'FAIL' end)
        from jsonb_array_elements_text(s.last_messages) m (id)
          left join ${schema}.delivery d on d.id = m.id::uuid and d.handler in (0, ${handlerOf(schema)})
          left join lateral (select outcome from ${schema}.delivered e where e.id = m.id::uuid order by done_at desc limit 1) e on true
        where d.id is not null or e.outcome is not null), '{}'))::text as row
    from ${schema}.http_schedule s where ($1::text is null or s.id = $1::text) and ${isTenants('s.id', 2)} order by s.created_at, s.id`;
  const rows = await sql.query(scheduleRead, [scheduleId ?? null, tenant ?? null]);
  return rows.map(toSchedule);
}

type KeptFields = Omit<ScheduleRecord, keyof ScheduleInput> & { readonly scheduleId: string };

function toSchedule(row: Record<string, unknown>): ScheduleRecord {
  const { delivery, ...input } = readJson(row, 'input') as Omit<ScheduleInput, 'scheduleId'>;
  const shown = { ...input, delivery: shownRequest(delivery) };
  return { ...shown, ...readRecord<KeptFields>(readJson(row, 'row') as Fields, ['createdAt', 'lastAt', 'nextAt']) };
}

function refused(message: string): ScheduleOutcome {
  return { kind: 'refused', message };
}
