import { type Cron, parseCron } from '../../delivery/cron.ts';
import { nextTime } from '../../delivery/cron-time.ts';
import type { PublishRequest, UrlGroupEndpoint } from '../../delivery/publishing.ts';
import type { ScheduleInput } from '../../delivery/schedules.ts';
import { ownName } from '../../delivery/tenants.ts';
import { messageInput } from '../fan-out.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { type MadeMessage, makeMessages } from './make-messages.ts';
import { groupOf, groupsOf, placesOf, type PublishRules } from './publish.ts';

/** Schedules that are looked at in one go, and times of one schedule that are published in one commit. */
const MOST_SCHEDULES = 100;
const MOST_TIMES = 100;
/** Of times that are later than this, the last alone is published: a schedule of every minute would else bring thousands. */
const CATCH_UP_MS = 86_400_000;
/** How long a time of a schedule is remembered, besides that the schedule has moved on. */
const REMEMBERED_MS = 86_400_000;

interface DueSchedule {
  readonly id: string;
  /** The time that is due, in milliseconds. */
  readonly dueMs: number;
  /** Without its body, which stays in the database. */
  readonly input: Omit<ScheduleInput, 'scheduleId'>;
  readonly bodyBytes: number;
}

interface Claim {
  /** What its messages store of bodies. */
  readonly bytes: number;
  readonly text: string;
  readonly requests: readonly PublishRequest[];
}

/** Publishes all times that have come, each with what moves its schedule on. */
export async function fireSchedules(
  sql: SqlRunner,
  schema: string,
  rules: PublishRules,
  now: Date,
): Promise<{ readonly fired: number; readonly nextAt: Date | undefined }> {
  const dueRead = `select id, (extract(epoch from next_at) * 1000)::bigint::text as due_ms, (input #- '{delivery,body}' #- '{delivery,bodyBase64}')::text as input,
      octet_length(coalesce(input #>> '{delivery,body}', input #>> '{delivery,bodyBase64}', ''))::text as body_bytes
    from ${schema}.http_schedule
    where not is_paused and next_at <= $1::text::timestamptz order by next_at, id limit ${MOST_SCHEDULES}`;
  const fireCall = `select ${schema}.http_schedule_fire($1::text, $2::text, $3::text::float8) as moved`;
  let fired = 0;
  for (;;) {
    const rows = await sql.query(dueRead, [now.toISOString()]);
    if (rows.length === 0) return { fired, nextAt: await earliest(sql, schema) };
    const due = rows.map((row): DueSchedule => ({
      id: String(row['id']),
      dueMs: Number(row['due_ms']),
      input: JSON.parse(String(row['input'])) as DueSchedule['input'],
      bodyBytes: Number(row['body_bytes']),
    }));
    const groups = await groupsOf(
      sql,
      schema,
      due.map(({ input }) => input),
    );
    const claims = claimsOf(due, groups, rules, now);
    const about = placesOf(claims.flatMap(({ requests }) => requests));
    const [row] = await sql.query(fireCall, [`[${claims.map(({ text }) => text).join(',')}]`, about, REMEMBERED_MS]);
    // No room: what is due stays so, and is looked at again.
    if (row?.['moved'] === null) return { fired, nextAt: undefined };
    const moved = Number(row?.['moved']);
    fired += moved;
    // Somebody else is at it.
    if (moved === 0) return { fired, nextAt: await earliest(sql, schema) };
  }
}

async function earliest(sql: SqlRunner, schema: string): Promise<Date | undefined> {
  const next = `select (extract(epoch from min(next_at)) * 1000)::text as ms from ${schema}.http_schedule where not is_paused`;
  const ms = (await sql.query(next))[0]?.['ms'];
  return typeof ms === 'string' ? new Date(Number(ms)) : undefined;
}

/** As many as one call may store; the others are due still, and come with the next. */
function claimsOf(
  due: readonly DueSchedule[],
  groups: ReadonlyMap<string, readonly UrlGroupEndpoint[]>,
  rules: PublishRules,
  now: Date,
): readonly Claim[] {
  const claims: Claim[] = [];
  let bytes = 0;
  for (const one of due) {
    const claim = claimOf(one, claims.length, groups, rules, now);
    bytes += claim.bytes;
    if (claims.length > 0 && bytes > rules.maxPublishBytes) break;
    claims.push(claim);
  }
  return claims;
}

function claimOf(
  { id, dueMs, input, bodyBytes }: DueSchedule,
  place: number,
  groups: ReadonlyMap<string, readonly UrlGroupEndpoint[]>,
  rules: PublishRules,
  now: Date,
): Claim {
  const reading = parseCron(input.cron);
  // A cron that was read when it was stored, by time zones that this process does not know.
  if (reading.kind === 'refused')
    return { text: claimText({ id, place, dueMs, lastMs: dueMs, error: reading.message }, []), requests: [], bytes: 0 };
  const endpoints = groups.get(groupOf(input) ?? '');
  const bytesOnce = bodyBytes * (endpoints?.length ?? 1);
  const most = Math.max(1, Math.min(MOST_TIMES, Math.floor(rules.maxPublishBytes / Math.max(1, bytesOnce))));
  const { times, next } = timesUpTo(reading.cron, dueMs, now.getTime(), most);
  const made: { readonly messages: readonly MadeMessage[]; readonly isLast: boolean }[] = [];
  const requests: PublishRequest[] = [];
  let error: string | undefined;
  for (const [at, time] of times.entries()) {
    const request = requestAt(id, input, time);
    const messages = makeMessages(request, endpoints, rules, { at: place, bytes: bodyBytes });
    error = 'kind' in messages ? messages.message : undefined;
    if ('kind' in messages) continue;
    made.push({ messages, isLast: at === times.length - 1 });
    requests.push(request);
  }
  const text = claimText({ id, place, dueMs, nextMs: next, lastMs: times.at(-1) ?? dueMs, error }, made);
  return { text, requests, bytes: bytesOnce * times.length };
}

/** The times from the first that is due, and when to go on. Those that are too late are passed over, but never the last of all. */
function timesUpTo(
  cron: Cron,
  first: number,
  now: number,
  most: number,
): { readonly times: readonly number[]; readonly next: number | undefined } {
  const begin = first < now - CATCH_UP_MS ? firstOfLate(cron, first, now) : first;
  const times: number[] = [begin];
  let next = nextTime(cron, begin);
  while (next !== undefined && next <= now && times.length < most) {
    times.push(next);
    next = nextTime(cron, next);
  }
  return { times, next };
}

/** Where to begin when nobody has looked for more than a day: with the first of the last day, or else with the last time before. */
function firstOfLate(cron: Cron, first: number, now: number): number {
  // Further and further back, so that neither a rare time nor many of them take long to find.
  for (let backMs = CATCH_UP_MS; ; backMs *= 2) {
    let found = nextTime(cron, Math.max(first, now - backMs) - 1);
    if (found === undefined || found > now) continue;
    if (backMs === CATCH_UP_MS) return found;
    for (let later = nextTime(cron, found); later !== undefined && later <= now; later = nextTime(cron, later)) {
      found = later;
    }
    return found;
  }
}

function requestAt(id: string, input: DueSchedule['input'], time: number): PublishRequest {
  const at = new Date(time);
  return {
    to: input.to,
    delivery: { ...input.delivery, scheduleId: ownName(id) },
    flow: input.flow,
    notBefore: input.delayMs === undefined ? undefined : new Date(time + input.delayMs),
    deduplication: { id: `schedule:${id}:${at.toISOString()}` },
  };
}

interface ClaimHead {
  readonly id: string;
  readonly place: number;
  readonly dueMs: number;
  readonly nextMs?: number | undefined;
  readonly lastMs: number;
  readonly error: string | undefined;
}

function claimText(
  { id, place, dueMs, nextMs, lastMs, error }: ClaimHead,
  made: readonly { readonly messages: readonly MadeMessage[]; readonly isLast: boolean }[],
): string {
  const [expected, last] = [dueMs, lastMs].map((ms) => new Date(ms).toISOString());
  const next = nextMs === undefined ? undefined : new Date(nextMs).toISOString();
  const messages = made.flatMap(({ messages: all, isLast }) =>
    all.map(({ message }) => {
      const text = messageInput([message]).slice(1, -1);
      return isLast ? `{"of_last":true,${text.slice(1)}` : text;
    }),
  );
  return `${JSON.stringify({ id, place, expected, next, last, error }).slice(0, -1)},"messages":[${messages.join(',')}]}`;
}
