import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { postgresOperator } from '../../src/postgres/operator/postgres-operator.ts';
import { needs } from '../support/needs.ts';
import { OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');

test('no read of an operator is taken for dear enough to be compiled, which would take longer than it does [X.6]', async ({
  postgres,
}) => {
  const database = await OperatorDatabase.open(postgres);
  const charge = await database.handler(3, 'billing', 'charge');
  await database.sql(`update $S.handler set breaker = 'bank' where id = $1`, [charge]);
  await database.sql(`insert into $S.breaker (service, name, failures, state) values ('billing', 'bank', 5, 2)`);
  const costs = new Map<string, number>();
  const { pool } = database;
  const explaining = Object.assign(Object.create(pool) as typeof pool, {
    query: async (text: string, params: unknown[]) => {
      const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }>(
        `explain (format json) ${text}`,
        params,
      );
      costs.set(text, rows[0]?.['QUERY PLAN'][0].Plan['Total Cost'] ?? 0);
      return pool.query(text, params);
    },
  });
  const operator = postgresOperator({ pool: explaining, schema: database.schema });
  const id = randomUUID();
  await Promise.all([operator.deadLetters({ search: 'x', type: 't' }), operator.find(id), operator.show(id)]);
  await Promise.all([
    operator.why(id),
    operator.forecast(id),
    operator.trace(id),
    operator.stats(),
    operator.handlers(),
  ]);
  await Promise.all([
    operator.heldKeys(),
    operator.audit(),
    operator.overview(),
    operator.system(),
    operator.breakers(),
  ]);
  await Promise.all([
    operator.groups(),
    operator.group('1-0'),
    operator.bulks(),
    operator.bulk(id),
    operator.bulkItems(id),
  ]);
  await Promise.all([operator.messages({ type: 'a*' }), operator.messageTabs(), operator.idempotencyRecords()]);
  await Promise.all([operator.commands(), operator.outgoingCalls()]);
  expect(costs.size).toBeGreaterThan(25);
  // PostgreSQL's default of jit_above_cost.
  const dear = [...costs].filter(([, cost]) => cost > 100_000);
  expect(dear.map(([text, cost]) => `${cost}: ${text.slice(0, 200)}`)).toEqual([]);
});
