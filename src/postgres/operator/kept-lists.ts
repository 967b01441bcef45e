import { COMMAND_STATES } from '../../commands/command-state.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import { checkList } from '../../operator/check-request.ts';
import {
  type CommandRecord,
  IDEMPOTENCY_STATUSES,
  type IdempotencyRecord,
  type KeptLists,
  type OutgoingCall,
} from '../../operator/kept-lists.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { readRecord } from './read-record.ts';
import { walkPage } from './walk-page.ts';

type Filter<List extends keyof KeptLists> = NonNullable<Parameters<KeptLists[List]>[0]>;

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What is kept besides messages. Each call reads a bounded number of rows, in the order of an index that is there anyway. */
export function keptLists(sql: SqlRunner, schema: string): KeptLists {
  return {
    idempotencyRecords: (filter = {}) => listRecords(sql, schema, filter),
    commands: (filter = {}) => listCommands(sql, schema, filter),
    outgoingCalls: (filter = {}) => listCalls(sql, schema, filter),
  };
}

/**
 * By when they are to be forgotten: of what is kept equally long the last claim comes first. An index on the time of creation would
 * be written by every claim; one on the status would be by every end as well.
 */
async function listRecords(
  sql: SqlRunner,
  schema: string,
  filter: Filter<'idempotencyRecords'>,
): ReturnType<KeptLists['idempotencyRecords']> {
  const { status, domain } = filter;
  checkList('idempotencyRecords', filter, { status, domain });
  const check = new OptionCheck('idempotencyRecords()');
  if (status !== undefined) check.word('status', status, IDEMPOTENCY_STATUSES);
  check.done();
  const shown = `case when w.status = 'processing' and w.lease_until <= clock_timestamp() then 'unknown' else w.status end`;
  return walkPage(sql, 'idempotencyRecords()', filter, {
    // By name: an observer may read neither the reply nor all columns at once.
    from: `select i.id, i.domain, i.status, i.run, i.lease_until, i.created_at, i.updated_at, i.expires_at, i.has_reply,
        i.reap_at as at from ${schema}.idempotency i`,
    order: ['i.reap_at', 'i.id'],
    place: `to_char(w.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '~' || w.id`,
    cursor: /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)~([!-~]{1,200})$/,
    before: '(i.reap_at, i.id) < ($1::text::timestamptz, $2::text)',
    fits: `w.expires_at > clock_timestamp() and ($3::text is null or ${shown} = $3::text) and ($4::text is null or w.domain = $4::text)`,
    params: [status ?? null, domain ?? null],
    row: `json_build_object('id', w.id, 'domain', w.domain, 'status', ${shown}, 'run', w.run, 'leaseUntil', w.lease_until,
      'createdAt', w.created_at, 'updatedAt', w.updated_at, 'expiresAt', w.expires_at, 'hasReply', w.has_reply)`,
    read: (fields) => readRecord<IdempotencyRecord>(fields, ['leaseUntil', 'createdAt', 'updatedAt', 'expiresAt']),
  });
}

/** The newest first: their ids tell the time. An index on the last change would be written at each step of each command. */
async function listCommands(
  sql: SqlRunner,
  schema: string,
  filter: Filter<'commands'>,
): ReturnType<KeptLists['commands']> {
  const { state, name, target } = filter;
  checkList('commands', filter, { state, name, target });
  const check = new OptionCheck('commands()');
  if (state !== undefined) check.word('state', state, COMMAND_STATES);
  check.done();
  const all = `${schema}.command`;
  // Those of a target are few, and found by its index; a target may have many all the same.
  const ofTarget = `(select * from ${schema}.command where target = $5::text limit 10000)`;
  return walkPage(sql, 'commands()', filter, {
    from: `select c.* from ${target === undefined ? all : ofTarget} c`,
    order: ['c.id'],
    place: 'w.id::text',
    cursor: ID,
    before: 'c.id < $1::text::uuid and $2::text is null',
    fits: `($3::text is null or w.state = $3::text) and ($4::text is null or w.name = $4::text) and ($5::text is null or w.target = $5::text)`,
    params: [state ?? null, name ?? null, target ?? null],
    row: `json_build_object('id', w.id, 'service', w.service, 'name', w.name, 'target', w.target, 'module', w.module,
      'state', w.state, 'attempts', w.attempts,
      'error', coalesce(w.error ->> 'code', w.error ->> 'name', 'error') || ': ' || (w.error ->> 'message'),
      'createdAt', w.created_at, 'updatedAt', w.updated_at, 'closedAt', w.closed_at)`,
    read: (fields) => readRecord<CommandRecord>(fields, ['createdAt', 'updatedAt', 'closedAt']),
  });
}

async function listCalls(
  sql: SqlRunner,
  schema: string,
  filter: Filter<'outgoingCalls'>,
): ReturnType<KeptLists['outgoingCalls']> {
  const { service, destination, isOk, ...paging } = filter;
  checkList('outgoingCalls', { ...paging, service, destination } as typeof filter, { service, destination });
  const check = new OptionCheck('outgoingCalls()');
  if (isOk !== undefined && typeof isOk !== 'boolean') check.refuse('isOk', isOk, 'write true or false');
  check.done();
  const host = `coalesce(w.fields ->> 'destination', substring(w.fields ->> 'url' from '^[a-z+]+://(?:[^/@]*@)?([^/?#]+)'))`;
  return walkPage(sql, 'outgoingCalls()', paging, {
    from: `select f.* from ${schema}.fact f`,
    order: ['f.id'],
    place: 'w.id::text',
    cursor: ID,
    before: 'f.id < $1::text::uuid and $2::text is null',
    fits: `w.kind = 'call' and ($3::text is null or w.service = $3::text)
      and ($4::text is null or ${host} = $4::text) and ($5::text is null or w.is_ok = $5::text::boolean)`,
    params: [service ?? null, destination ?? null, isOk ?? null],
    row: `json_build_object('id', w.id, 'at', w.at, 'service', w.service, 'operation', coalesce(w.fields ->> 'operation', 'call'),
      'destination', ${host}, 'isOk', w.is_ok, 'status', ${numberOf('httpStatus')},
      'durationMs', ${numberOf('latencyMs')}, 'attempt', ${numberOf('attempt')},
      'error', coalesce(w.fields ->> 'error', w.fields ->> 'errorClass'))`,
    read: (fields) => readRecord<OutgoingCall>(fields, ['at']),
  });
}

/** A number of a fact, a whole one. */
function numberOf(name: string): string {
  return `case when jsonb_typeof(w.fields -> '${name}') = 'number' then round((w.fields ->> '${name}')::numeric) end`;
}
