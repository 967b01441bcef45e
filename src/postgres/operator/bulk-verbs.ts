import { checkChange } from '../../operator/check-request.ts';
import type { BulkChanged, BulkOperations } from '../../operator/bulk.ts';
import type { By } from '../../operator/operator.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { planBulk } from './bulk-plan.ts';
import { isBulkId, listBulkItems, listBulks, readBulk } from './bulk-reads.ts';

/** How many steps one call makes at most. */
const MOST_STEPS = 10;

/** One step of the bulk operation that is due, as `bulk_step` tells it. */
export interface BulkStep {
  readonly isStepped: boolean;
  readonly started: number;
  readonly ended: number;
  readonly againInMs: number | null;
}

/** Makes a step; one statement, which is one transaction. */
export function stepStatement(schema: string): string {
  return `select ${schema}.bulk_step()::text as step`;
}

/** Bulk operations: what is done to them is one statement each. */
export function bulkVerbs(sql: SqlRunner, schema: string): BulkOperations {
  const change = async (verb: string, id: string, by: By): Promise<BulkChanged> => {
    checkChange(`${verb}Bulk`, by);
    if (!isBulkId(id)) return { kind: 'not-found' };
    const call = `${schema}.bulk_change($1::text::uuid, $2::text, $3::text, $4::text)`;
    const [row] = await sql.query(`select ${call}::text as answer`, [id, verb, by.actor, by.reason ?? null]);
    const answer = JSON.parse(String(row?.['answer'])) as { kind: BulkChanged['kind']; problem?: string };
    const bulk = await readBulk(sql, schema, id);
    if (answer.kind === 'not-found' || bulk === undefined) return { kind: 'not-found' };
    return answer.kind === 'changed'
      ? { kind: 'changed', bulk }
      : { kind: 'refused', bulk, problem: answer.problem ?? '' };
  };
  return {
    planBulk: (request, by) => planBulk(sql, schema, request, by),
    startBulk: (id, by) => change('start', id, by),
    pauseBulk: (id, by) => change('pause', id, by),
    resumeBulk: (id, by) => change('resume', id, by),
    cancelBulk: (id, by) => change('cancel', id, by),
    async bulk(id) {
      const bulk = await readBulk(sql, schema, id);
      return bulk ? { kind: 'found', bulk } : { kind: 'not-found' };
    },
    bulks: (filter = {}) => listBulks(sql, schema, filter),
    bulkItems: (id, filter = {}) => listBulkItems(sql, schema, id, filter),
    stepBulks: () => stepBulks(sql, schema),
  };
}

async function stepBulks(sql: SqlRunner, schema: string): ReturnType<BulkOperations['stepBulks']> {
  let started = 0;
  let ended = 0;
  let againInMs: number | undefined;
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const [row] = await sql.query(stepStatement(schema));
    const step = JSON.parse(String(row?.['step'])) as BulkStep;
    started += step.started;
    ended += step.ended;
    againInMs = step.againInMs ?? undefined;
    if (!step.isStepped || againInMs !== 0) break;
  }
  return { started, ended, againInMs };
}
