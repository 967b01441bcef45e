import type { CommandEvent, CommandRecord } from '../../commands/command-record.ts';
import type { CommandStore } from '../../commands/command-store.ts';
import { epochMs } from '../schema/idempotency.ts';
import type { SqlRunner } from '../sql-runner.ts';

/** A command `c` as JSON text, times in milliseconds. */
const COMMAND_JSON = `json_build_object('commandId', c.id, 'service', c.service, 'name', c.name, 'target', c.target, 'module', c.module,
    'idempotencyKey', c.idempotency_key, 'state', c.state, 'onExhausted', c.on_exhausted, 'attempt', c.attempt, 'attempts', c.attempts,
    'replays', c.cycle, 'answer', c.answer, 'error', c.error, 'correlation', c.correlation, 'createdAt', ${epochMs('c.created_at')},
    'queuedAt', ${epochMs('c.queued_at')}, 'startedAt', ${epochMs('c.started_at')}, 'updatedAt', ${epochMs('c.updated_at')},
    'doneAt', ${epochMs('c.done_at')}, 'closedAt', ${epochMs('c.closed_at')})::text as record`;

const EVENT_JSON = `json_build_object('commandId', c.id, 'n', e.n, 'at', ${epochMs('e.at')}, 'kind', e.kind, 'name', c.name,
    'target', c.target, 'module', c.module, 'from', e.from_state, 'to', e.to_state, 'attempt', e.attempt, 'replays', e.cycle,
    'idempotencyKey', e.idempotency_key, 'error', e.error, 'actor', e.actor)::text as record`;

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Reading commands and their events. */
export function commandReads(
  sql: SqlRunner,
  schema: string,
): Pick<CommandStore<never>, 'find' | 'ofTarget' | 'events'> {
  const from = `from ${schema}.command c`;
  const byId = `select ${COMMAND_JSON} ${from} where c.id = $1::text::uuid and c.service = $2::text`;
  const byKey = `select ${COMMAND_JSON} ${from} where c.idempotency_key = $1::text and c.service = $2::text`;
  const ofTarget = `select ${COMMAND_JSON} ${from} where c.target = $1::text and c.service = coalesce($2::text, c.service) order by c.created_at, c.id`;
  // In the order of their times, as far as that of each command's own numbers allows: the clock of a server may be set back. Commands of
  // which all is known are passed by.
  const events = `select ${EVENT_JSON} from (
      select e.*, max(e.at) over (partition by e.command order by e.n) as shown_at
      ${from} left join json_to_recordset($3::text::json) as k (id uuid, n int) on k.id = c.id
      join ${schema}.command_event e on e.command = c.id and e.n > coalesce(k.n, 0)
      where c.target = $1::text and c.service = coalesce($2::text, c.service) and c.n > coalesce(k.n, 0)) e
    join ${schema}.command c on c.id = e.command
    order by e.shown_at, e.command, e.n limit $4::text::int`;
  return {
    find: async (service, by) => {
      if ('id' in by && !ID.test(by.id)) return undefined;
      const [row] = 'id' in by ? await sql.query(byId, [by.id, service]) : await sql.query(byKey, [by.key, service]);
      return row && readCommand(row);
    },
    ofTarget: async (service, target) => (await sql.query(ofTarget, [target, service ?? null])).map(readCommand),
    events: async (service, target, after, limit) => {
      const known = Array.from(after, ([id, n]) => ({ id, n }));
      return (await sql.query(events, [target, service ?? null, JSON.stringify(known), limit])).map(readEvent);
    },
  };
}

type Loose = Readonly<Record<string, unknown>>;

function readCommand(row: Loose): CommandRecord {
  const { answer, ...record } = JSON.parse(String(row['record'])) as Loose;
  const times = ['createdAt', 'queuedAt', 'startedAt', 'updatedAt', 'doneAt', 'closedAt'];
  const read = withTimes({ ...record, error: record['error'] ?? undefined }, times);
  return (record['state'] === 'done' ? { ...read, answer } : read) as unknown as CommandRecord;
}

function readEvent(row: Loose): CommandEvent {
  const record = JSON.parse(String(row['record'])) as Loose;
  const absent = {
    from: record['from'] ?? undefined,
    error: record['error'] ?? undefined,
    actor: record['actor'] ?? undefined,
  };
  return withTimes({ ...record, ...absent }, ['at']) as unknown as CommandEvent;
}

function withTimes(record: Loose, times: readonly string[]): Loose {
  const read = times.map((name) => {
    const value = record[name];
    return [name, value === null || value === undefined ? undefined : new Date(Number(value))] as const;
  });
  return { ...record, ...Object.fromEntries(read) };
}
