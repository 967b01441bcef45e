import type { ChangedBy } from '../../delivery/webhook-endpoints.ts';
import type { AuditVerb } from '../../operator/operator-records.ts';
import type { SqlParam } from '../sql-runner.ts';

/** Who changes something where nobody is named, in the audit. */
export const API: ChangedBy = { actor: 'delivery api' };

/**
 * A statement with its entry in the audit, as one statement, so that neither is there without the other. `source` is a change that
 * returns what it changed, or the reading of a secret; where it gives no row, nothing is entered. The parameters from number `first`
 * on are those of `auditParams`.
 */
export function audited(schema: string, source: string, first: number): string {
  const [actor, verb, reason, details] = [0, 1, 2, 3].map((nth) => `$${first + nth}::text`);
  return `with changed as (${source}),
    audited as (insert into ${schema}.audit (actor, verb, reason, details)
      select ${actor}, ${verb}, ${reason}, ${details}::jsonb from (select from changed limit 1) one)
    select * from changed`;
}

/** What `audited` enters. */
export function auditParams(
  { actor, reason }: ChangedBy = API,
  verb: AuditVerb,
  details: Readonly<Record<string, unknown>>,
): readonly SqlParam[] {
  return [actor, verb, reason ?? null, JSON.stringify(details)];
}
