import { type AuditAnchor, type AuditProblem, type AuditVerified, checkAnchor } from '../../operator/audit-verify.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { readJson } from './read-record.ts';

/** How many records are compared in one statement. */
const BATCH = 5_000;

/**
 * What an entry of the audit is in the chain: everything that is in it, as text that is the same in every session.
 * `a` is the row of the audit, `n` its place.
 */
function entryText(a: string, n: string): string {
  return `convert_to(jsonb_build_array(${n}, ${a}.id, to_char(${a}.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), ${a}.actor,
    ${a}.verb, ${a}.reason, ${a}.message_id, ${a}.handler, ${a}.details)::text, 'UTF8')`;
}

/**
 * The chain over the audit: `hash` is sha256 of the hash before it and of the entry. Written at the commit of whoever wrote the entry,
 * in the same transaction, by a trigger that is deferred to it. Places in a chain are given to one after the other, so commits that
 * have something to audit queue behind each other: from here to their end, which is the write to the log and nothing of what the
 * operator did before. Taken earlier, as a lock in the verb itself, two verbs that lock messages in between would deadlock.
 *
 * The first entry of a transaction links all of it, so that a bulk step of a thousand takes the lock once.
 */
export function auditChain(schema: string): readonly string[] {
  return [
    `create table ${schema}.audit_chain (
      n bigint primary key,
      audit bigint not null unique,
      hash bytea not null)`,
    `create function ${schema}.audit_link() returns trigger language plpgsql as $body$
    declare
      a ${schema}.audit;
      v_n bigint;
      v_hash bytea;
    begin
      if exists (select from ${schema}.audit_chain c where c.audit = new.id) then return null; end if;
      perform pg_advisory_xact_lock(hashtextextended('holdfast audit ${schema}', 0));
      select c.n, c.hash into v_n, v_hash from ${schema}.audit_chain c order by c.n desc limit 1;
      v_n := coalesce(v_n, 0);
      begin
      for a in select * from ${schema}.audit e where e.id >= new.id and e.tx = pg_current_xact_id() order by e.id loop
        v_n := v_n + 1;
        v_hash := sha256(coalesce(v_hash, ''::bytea) || ${entryText('a', 'v_n')});
        insert into ${schema}.audit_chain (n, audit, hash) values (v_n, a.id, v_hash);
      end loop;
      exception when unique_violation then
        -- Its snapshot is older than the end of the chain, as under repeatable read: whoever asked tries again.
        raise exception 'the audit was written by others meanwhile' using errcode = 'serialization_failure';
      end;
      return null;
    end $body$`,
    `create constraint trigger audit_linked after insert on ${schema}.audit deferrable initially deferred
      for each row execute function ${schema}.audit_link()`,
    verifyFunction(schema),
  ];
}

/**
 * Compares up to p_limit places of the chain from p_from on with the audit, p_hash being the hash before. Answers where it came to and
 * the first thing that is wrong.
 */
function verifyFunction(schema: string): string {
  return `create function ${schema}.audit_verify(p_from bigint, p_hash bytea, p_limit int) returns jsonb language plpgsql stable as $body$
    declare
      r record;
      v_n bigint := p_from;
      v_hash bytea := p_hash;
      v_count int := 0;
      v_problem text;
    begin
      for r in
        select c.n, c.audit, c.hash, a.id as found, case when a.id is not null then ${entryText('a', 'c.n')} end as entry
        from ${schema}.audit_chain c left join ${schema}.audit a on a.id = c.audit
        where c.n > p_from order by c.n limit p_limit
      loop
        v_problem := case when r.n <> v_n + 1 then 'link-missing' when r.found is null then 'deleted'
          when r.hash <> sha256(coalesce(v_hash, ''::bytea) || r.entry) then 'changed' end;
        if v_problem is not null then
          return jsonb_build_object('problem', v_problem, 'place', v_n + 1,
            'id', case when v_problem <> 'link-missing' then r.audit end, 'count', v_count);
        end if;
        v_n := r.n;
        v_hash := r.hash;
        v_count := v_count + 1;
      end loop;
      return jsonb_build_object('place', v_n, 'hash', encode(v_hash, 'hex'), 'count', v_count);
    end $body$`;
}

interface Step {
  readonly problem?: AuditProblem;
  readonly place: number;
  readonly id?: number | null;
  readonly hash?: string | null;
  readonly count: number;
}

/** `anchor`: a place and its hash as they were told before, which must still be so. */
export async function verifyAudit(
  sql: SqlRunner,
  schema: string,
  anchor: AuditAnchor | undefined,
): Promise<AuditVerified> {
  checkAnchor(anchor);
  let [place, hash, checked] = [0, null as string | null, 0];
  let isAnchored = anchor === undefined || anchor.place === 0;
  for (;;) {
    const limit = isAnchored || !anchor ? BATCH : Math.min(BATCH, anchor.place - place);
    const [row] = await sql.query(
      `select ${schema}.audit_verify($1::text::bigint, decode($2::text, 'hex'), $3::text::int)::text as step`,
      [place, hash, limit],
    );
    const step = readJson(row, 'step') as Step;
    checked += step.count;
    if (step.problem !== undefined)
      return { kind: 'broken', problem: step.problem, place: step.place, id: step.id ?? undefined, checked };
    ({ place } = step);
    hash = step.hash ?? null;
    if (anchor && !isAnchored && (place === anchor.place || step.count < limit)) {
      if (place !== anchor.place)
        return { kind: 'broken', problem: 'cut-off', place: place + 1, id: undefined, checked };
      if (hash !== anchor.hash) return { kind: 'broken', problem: 'rewritten', place, id: undefined, checked };
      isAnchored = true;
      continue;
    }
    if (step.count < limit) break;
  }
  const unlinked = await sql.query(
    `select min(a.id)::text as id from ${schema}.audit a where not exists (select from ${schema}.audit_chain c where c.audit = a.id)`,
  );
  const id = unlinked[0]?.['id'];
  if (typeof id === 'string') return { kind: 'broken', problem: 'inserted', place: place + 1, id: Number(id), checked };
  return { kind: 'whole', place, hash: hash ?? '', checked };
}
