import type { DeadLetterStatus } from '../../operator/operator-records.ts';

/** Null where the id serves. */
const ID_UNLESS_GIVEN: ReadonlySet<string> = new Set(['idempotency_key', 'correlation_id']);

const ENVELOPE = [
  'id',
  'type',
  'key',
  'payload',
  'idempotency_key',
  'source',
  'target',
  'aggregate_type',
  'aggregate_id',
  'generation',
  'correlation_id',
  'causation_id',
  'traceparent',
  'tracestate',
  'headers',
  'created_at',
  'version',
  'attempts',
  'error',
  'first_failed_at',
  'failure_history',
]
  .map((column) => (ID_UNLESS_GIVEN.has(column) ? `coalesce(d.${column}, d.id::text) as ${column}` : `d.${column}`))
  .join(', ');

/** The views people read; how rows are stored behind them is ours to change. */
export function operatorViews(schema: string): readonly string[] {
  return [
    // What live workers report as running. The reports of a dead worker, and of what has ended since, mean nothing.
    `create view ${schema}.live_run as
      select r.id, d.handler, w.name as worker, r.attempt, r.started_at
      from ${schema}.running r join ${schema}.worker w on w.id = r.worker
      join ${schema}.delivery d on d.id = r.id and d.unit = r.unit and d.state < 2
      where w.expires_at > clock_timestamp()`,
    outbox(schema),
    deadLetters(schema),
    runLog(schema),
    `create view ${schema}.event_handled as
      select d.id as event_id, h.service, h.name as handler, d.done_at as handled_at
      from ${schema}.delivered d join ${schema}.handler h on h.id = d.handler where d.outcome = 0`,
  ];
}

/** An error as one line of text. */
function lastError(error: string): string {
  return `coalesce(${error} ->> 'code', ${error} ->> 'name', 'error') || ': ' || (${error} ->> 'message')`;
}

/**
 * Every message, once. Each branch has its status as a constant and takes one delivery by "none is before it" instead of
 * distinct: so the server leaves out the branches a query cannot match, before it runs.
 */
function outbox(schema: string): string {
  const branch = (
    status: string,
    from: string,
    where: string,
    times: { readonly due?: string; readonly failed?: string; readonly deleted?: string; readonly published?: string },
  ): string => `select ${ENVELOPE}, ${lastError('d.error')} as last_error, '${status}'::text as status,
      ${times.due ?? 'null::timestamptz'} as due_at, ${times.failed ?? 'null::timestamptz'} as failed_at,
      ${times.deleted ?? 'null::timestamptz'} as deleted_at, ${times.published ?? 'null::timestamptz'} as published_at
    from ${schema}.${from} d where ${where}`;
  const none = (table: string, condition: string): string =>
    `not exists (select from ${schema}.${table} e where e.id = d.id and ${condition})`;
  // Few rows, read once: as "not exists" they would be looked for once for every message.
  const notRunning = `d.id not in (select r.id from ${schema}.live_run r)`;
  const running = `(d.id, d.handler) in (select r.id, min(r.handler) from ${schema}.live_run r group by r.id)`;
  const noneFailed = none('delivery', 'e.state = 2');
  // "offset 0" keeps it a look-up for each row: as a join it is taken to leave one row of all, and what follows is planned for one.
  const noneOpen = none('delivery', 'true offset 0');
  const lastDone = '(e.done_at, e.handler, e.rerun) > (d.done_at, d.handler, d.rerun)';
  return `create view ${schema}.outbox as
    ${branch('failed', 'delivery', `d.state = 2 and ${none('delivery', 'e.state = 2 and (-e.attempts, e.failed_at, e.handler) < (-d.attempts, d.failed_at, d.handler)')}`, { failed: 'd.failed_at' })}
    union all
    ${branch('in_flight', 'delivery', `d.state in (0, 1) and ${running} and ${noneFailed}`, { due: 'd.due_at' })}
    union all
    ${branch('pending', 'delivery', `d.state in (0, 1) and ${noneFailed} and ${notRunning} and ${none('delivery', '(-e.attempts, e.handler) < (-d.attempts, d.handler)')}`, { due: 'd.due_at' })}
    union all
    ${branch('delivered', 'delivered', `d.outcome = 0 and ${noneOpen} and ${none('delivered', `(e.outcome <> 0 or ${lastDone})`)}`, { published: 'd.done_at' })}
    union all
    ${branch('failed', 'delivered', `d.outcome = 1 and ${noneOpen} and ${none('delivered', `e.outcome = 1 and ${lastDone}`)}`, { deleted: 'd.done_at' })}
    union all
    ${branch('pending', 'delivered', `d.outcome = 2 and ${noneOpen} and ${none('delivered', `(e.outcome = 1 or (e.outcome = 2 and ${lastDone}))`)}`, { deleted: 'd.done_at' })}`;
}

/** Every delivery that has failed for good once, and what became of it. */
function deadLetters(schema: string): string {
  return `create view ${schema}.dead_letters as ${Object.values(deadLetterBranches(schema)).join(' union all ')}`;
}

/**
 * The parts of the view `dead_letters`. Alone, a part can be read in the order of an index, which a union cannot. `more`: further
 * columns of the delivery `d`, which the view does not have.
 */
export function deadLetterBranches(schema: string, more = ''): Readonly<Record<DeadLetterStatus, string>> {
  // What was replayed shows the cycle that failed: how the new one goes is in outbox and run_log.
  const last = `(d.failure_history -> -1)`;
  const lastTime = (field: string): string => `(${last} ->> '${field}')::timestamptz`;
  // `redis:stream@id`, `kafka:topic@partition@offset`, for as long as the arrival is remembered. Each service that has it found it there.
  const foundAt = (part: string): string =>
    `(select substring(i.source_id from '${part}') from ${schema}.inbox i where i.id = d.id order by i.taken_as limit 1)`;
  const branch = (
    status: string,
    from: string,
    where: string,
    columns: {
      readonly error: string;
      readonly attempts: string;
      readonly firstFailedAt?: string;
      readonly failedAt: string;
      readonly updatedAt: string;
    },
  ): string => `select d.id::text || ':' || d.handler as id, d.id as message_id, h.service, h.name as handler, d.type, d.key,
      d.source, coalesce(${foundAt('^[a-z]+:([^@]*)@')}, d.source) as source_stream,
      coalesce(${foundAt('@(.*)$')}, d.id::text) as source_message_id, d.target, d.generation, d.payload, d.headers,
      ${columns.error} as error, ${lastError(`(${columns.error})`)} as last_error, ${columns.attempts} as attempts, d.cycle,
      ${columns.firstFailedAt ?? 'd.first_failed_at'} as first_failed_at,
      ${columns.failedAt} as last_attempt_at, d.failure_history, '${status}'::text as status,
      ${from === 'delivery' ? 'd.holds, null::text as reason, null::text as actor' : 'false as holds, d.reason, d.actor'},
      d.created_at, ${columns.updatedAt} as updated_at, d.rerun${more}
    from ${schema}.${from} d left join ${schema}.handler h on h.id = d.handler where ${where}`;
  const lastCycle = {
    error: `(${last} -> 'error')`,
    attempts: `(${last} ->> 'attempts')::int`,
    firstFailedAt: lastTime('firstFailedAt'),
    failedAt: lastTime('failedAt'),
  };
  return {
    pending: branch('pending', 'delivery', 'd.state = 2', {
      error: 'd.error',
      attempts: 'd.attempts',
      failedAt: 'd.failed_at',
      updatedAt: 'd.failed_at',
    }),
    replaying: branch('replaying', 'delivery', `d.state in (0, 1) and d.failure_history <> '[]'`, {
      ...lastCycle,
      updatedAt: lastTime('replayedAt'),
    }),
    replayed: branch('replayed', 'delivered', `d.outcome = 0 and d.failure_history <> '[]'`, {
      ...lastCycle,
      updatedAt: 'd.done_at',
    }),
    discarded: branch('discarded', 'delivered', 'd.outcome = 1', {
      ...lastCycle,
      error: 'd.error',
      attempts: 'd.attempts',
      firstFailedAt: 'd.first_failed_at',
      updatedAt: 'd.done_at',
    }),
  };
}

/** One row for each run of a handler for a message: one for each (message, handler), and one more for each deliberate rerun. */
function runLog(schema: string): string {
  return `create view ${schema}.run_log as
    select d.id as event_id, d.type, h.service, h.name as projector,
      case when r.id is not null then 'running' when d.state = 2 then 'failed' when d.state = 1 then 'waiting' else 'ready' end as status,
      coalesce(r.attempt, d.attempts) as attempt, ${lastError('d.error')} as error,
      coalesce(r.started_at, d.ran_at) as started_at, d.failed_at as completed_at,
      d.cycle, d.rerun
    from ${schema}.delivery d left join ${schema}.handler h on h.id = d.handler
      left join ${schema}.live_run r on r.id = d.id and r.handler = d.handler
    union all
    select d.id, d.type, h.service, h.name, (array['delivered', 'discarded', 'cancelled'])[d.outcome + 1], d.attempts,
      ${lastError('d.error')}, d.done_at - d.duration_ms * interval '1 millisecond', d.done_at, d.cycle, d.rerun
    from ${schema}.delivered d left join ${schema}.handler h on h.id = d.handler`;
}
