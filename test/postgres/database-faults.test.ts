import { beforeAll, describe, expect, onTestFinished } from 'vitest';
import { constant, event, holdfast, policy } from '../../src/index.ts';
import { sqlRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { needs } from '../support/needs.ts';
import { sharedPglite } from '../support/shared-pglite.ts';
import { EFFECT_CLIENTS } from './support/effect-clients.ts';

const test = needs('postgres');
const placed = event<{ n: number }>('order.placed');
const twice = policy({ maxAttempts: 2, schedule: constant(1) });
const FREE_RUNS = 2;
// What a replica says to a write. PGlite has no connection to lose.
const READ_ONLY = `do $$ begin raise exception 'no writes here' using errcode = '25006'; end $$`;
const KILL = 'select pg_terminate_backend(pg_backend_pid())';

beforeAll(async () => void (await sharedPglite()));

describe.for(EFFECT_CLIENTS)('an effect over $name that loses its connection each time', ({ name, open }) => {
  test('is a dead letter after two free runs and its attempts, others go on [X.3]', async ({ postgres: server }) => {
    const client = await open(server);
    const hf = holdfast({ service: 'orders', store: client.store });
    let runs = 0;
    const insert = async (tx: SqlTransaction, n: number): Promise<void> =>
      void (await sqlRunner(tx).query(`insert into ${client.schema}.effect values ($1::text)`, [String(n)]));
    const effect = async ({ n }: { n: number }, tx: SqlTransaction): Promise<void> => {
      await insert(tx, n);
      if (n > 1) return;
      runs += 1;
      await sqlRunner(tx).query(name === 'PGlite' ? READ_ONLY : KILL);
    };
    hf.on(placed, 'book', (payload, ctx) => ctx.commit((tx) => effect(payload, tx)), { policy: twice, breaker: false });
    const relay = await hf.start({ leaseMs: 2_000, pollMs: 20 });
    onTestFinished(() => relay.stop({ drainMs: 1 }));
    await client.within(async (tx) => {
      for (const n of [1, 2, 3]) await hf.send(tx, placed, { n });
    });
    const dead = `select attempts || ' ' || (error ->> 'code') from $.delivery where state = 2`;
    await expect.poll(() => client.column(dead)).toEqual(['2 DATABASE_FAULT']);
    expect(runs).toBe(FREE_RUNS + 2);
    expect(await client.column('select line from $.effect order by 1')).toEqual(['2', '3']);
  });
});
