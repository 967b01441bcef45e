import { personId } from '../../idempotency/record-id.ts';
import { checkChange } from '../../operator/check-request.ts';
import { payloadDocument } from '../../operator/check-message-filter.ts';
import {
  checkErasure,
  type Erasure,
  type ErasureCounts,
  type ErasureOptions,
  type Erasures,
  type ErasureSubject,
} from '../../operator/erasure.ts';
import { sha256 } from '../../system/sha256.ts';
import { PERSON_LINK } from '../fan-out.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { messagesWith } from './erase-functions.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** After so many batches somebody else has a turn: who asked calls again. */
const MOST_STEPS = 40;

const ERASURE_JSON = `json_build_object('id', e.id, 'state', e.state, 'by', case when e.by_payload then 'payload' else 'person' end,
  'mark', e.mark, 'actor', e.actor, 'reason', e.reason, 'createdAt', e.created_at, 'endedAt', e.ended_at, 'counts', json_build_object(
    'messages', e.messages, 'open', e.open, 'commands', e.commands, 'facts', e.facts, 'idempotencyRecords', e.records))::text as row`;

/** Erasing what is known of somebody. */
export function eraseVerbs(sql: SqlRunner, schema: string): Erasures {
  const read = async (condition: string, params: readonly SqlParam[]): Promise<readonly Erasure[]> => {
    const rows = await sql.query(`select ${ERASURE_JSON} from ${schema}.erasure e where ${condition}`, params);
    return rows.map((row) => readRecord<Erasure>(readJson(row, 'row') as Fields, ['createdAt', 'endedAt']));
  };
  return {
    previewErase: async (subject, options = {}) => {
      checkErasure('previewErase', subject, options);
      return preview(sql, schema, subject, options);
    },
    async erase(subject, by, options = {}) {
      checkErasure('erase', subject, options);
      checkChange('erase', by, { needsReason: true });
      const { person = null, document } = seekOf(subject);
      const { open = false } = options;
      const request = [markOf(subject), person, document, open, by.actor, by.reason];
      const begin = (): Promise<readonly Record<string, unknown>[]> => sql.query(beginStatement(schema), request);
      // Nothing where somebody has begun the same at this moment: it is there the second time.
      const [begun] = [...(await begin()), ...(await begin())];
      const id = String(begun?.['id']);
      const persons = await personsOf(sql, schema, subject, options);
      for (let step = 0; step < MOST_STEPS; step += 1) {
        const [row] = await sql.query(`select ${schema}.erase_step($1::text::uuid, $2::text[])::text as done`, [
          id,
          persons,
        ]);
        if (row?.['done'] === 'true') break;
      }
      const [erasure] = await read('e.id = $1::text::uuid', [id]);
      if (!erasure) throw new TypeError('an erasure that was begun is not there');
      return { kind: 'erasing', erasure };
    },
    erasures: () => read('true order by e.created_at desc, e.id limit 100', []),
  };
}

/** Goes on with what was begun about the same subject, or begins. */
function beginStatement(schema: string): string {
  return `with known as (select e.id from ${schema}.erasure e where e.person is not distinct from $2::text
        and e.document is not distinct from $3::text::jsonb and e.is_open = $4::text::boolean and e.state = 'running'),
    begun as (
      insert into ${schema}.erasure (mark, person, document, is_open, by_payload, actor, reason)
      select $1::text, $2::text, $3::text::jsonb, $4::text::boolean, $2::text is null, $5::text, $6::text
      where not exists (select from known) on conflict do nothing returning id),
    audited as (
      insert into ${schema}.audit (actor, verb, reason, details)
      select $5::text, 'erase', $6::text, jsonb_build_object('erasure', b.id, 'mark', $1::text, 'state', 'running') from begun b)
    select id::text as id from known union all select id::text from begun`;
}

function seekOf({ person, payload }: ErasureSubject): {
  readonly person: string | undefined;
  readonly document: string | null;
} {
  return { person, document: payload ? JSON.stringify(payloadDocument(payload)) : null };
}

/** So short that nobody is found by trying out ids: about one in 16 million has the same. */
function markOf(subject: ErasureSubject): string {
  return sha256(JSON.stringify(['erasure', subject.person ?? null, subject.payload ?? null])).slice(0, 4);
}

/** The person as the idempotency records of each service know them. */
async function personsOf(
  sql: SqlRunner,
  schema: string,
  { person }: ErasureSubject,
  { services = [] }: ErasureOptions,
): Promise<readonly string[]> {
  if (person === undefined) return [];
  const rows = await sql.query(`select distinct service from ${schema}.handler`);
  const names = new Set([...services, ...rows.map((row) => String(row['service']))]);
  return [...names].map((service) => personId(service, person));
}

async function preview(
  sql: SqlRunner,
  schema: string,
  subject: ErasureSubject,
  options: ErasureOptions,
): Promise<ErasureCounts> {
  const { person = null, document } = seekOf(subject);
  const persons = await personsOf(sql, schema, subject, options);
  const found = `select distinct l.message as id from ${schema}.trace_link l where l.id = '${PERSON_LINK}' || $1::text
    union select m.id from (${messagesWith(schema, '$2::text::jsonb', `'00000000-0000-0000-0000-000000000000'`)}) m`;
  const [row] = await sql.query(
    `with m as materialized (${found}) select json_build_object(
      'messages', (select count(*) from m),
      'open', (select count(*) from m where exists (select from ${schema}.delivery d where d.id = m.id and d.state <> 2)),
      'commands', (select count(*) from ${schema}.command c where c.correlation ->> 'userId' = $1::text),
      'facts', (select count(*) from ${schema}.fact f where f.user_id = $1::text),
      'idempotencyRecords', (select count(*) from ${schema}.idempotency i where i.person = any ($3::text[])))::text as counts`,
    [person, document, persons],
  );
  return readJson(row, 'counts') as ErasureCounts;
}
