import { describe, expect } from 'vitest';
import { planStatement } from '../../src/postgres/operator/bulk-plan.ts';
import { listStatement } from '../../src/postgres/operator/dead-letter-list.ts';
import { needs } from '../support/needs.ts';
import { OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');

describe('how operators read a large database', () => {
  test('who waits behind a selection is looked up in a table, also where the planner expects nobody [X.5]', async ({
    postgres,
  }) => {
    const database = await OperatorDatabase.open(postgres);
    const plan = await database.sql(`explain (format json, costs off) ${planStatement('$S', 'true')}`, [
      'replay',
      '{}',
      100,
      0,
      null,
      null,
      'ann',
      null,
    ]);
    expect(JSON.stringify(plan)).toContain('hashed SubPlan');
  });

  test('what was replayed is read by an index, in the order it is shown [X.3]', async ({ postgres }) => {
    const database = await OperatorDatabase.open(postgres);
    const client = await database.connect();
    await client.query('set enable_seqscan = off; set enable_sort = off');
    const list = listStatement(`"${database.schema}"`, 'replayed', 'true', 1);
    const { rows } = await client.query(`explain (format json, costs off) ${list}`, [null, null, 10]);
    const text = JSON.stringify(rows);
    expect(text).toContain('delivered_7_replayed');
    expect(text).not.toMatch(/"Seq Scan"[^{}]*"Relation Name":"delivered_/);
  });

  test('the list of groups is never compiled, which takes longer than to read it [X.5]', async ({ postgres }) => {
    const database = await OperatorDatabase.open(postgres);
    const rows = await database.sql(`select proconfig from pg_proc where oid = '$S.error_group_list'::regproc`);
    expect(rows).toEqual([{ proconfig: expect.arrayContaining(['jit=off']) }]);
  });
});
