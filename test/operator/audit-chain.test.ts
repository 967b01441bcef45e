import { describe, expect } from 'vitest';
import type { AuditAnchor, AuditVerified } from '../../src/operator/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');

/** An audit of so many records. */
async function audited(server: Parameters<typeof OperatorDatabase.open>[0], count: number): Promise<OperatorDatabase> {
  const database = await OperatorDatabase.open(server);
  await database.handler(1, 'mail', 'welcome');
  for (let n = 0; n < count; n += 1) {
    if (n % 2 === 0) await database.operator.pause('welcome', ANN);
    else await database.operator.resume('welcome', ANN);
  }
  return database;
}

async function anchorOf({ operator }: OperatorDatabase): Promise<AuditAnchor> {
  const verified = await operator.verifyAudit();
  if (verified.kind !== 'whole') throw new Error(verified.problem);
  return { place: verified.place, hash: verified.hash };
}

/** What somebody does who may write all tables and lets no trigger see it. */
const TAMPERINGS: readonly {
  readonly name: string;
  readonly statement: string;
  readonly found: Partial<Extract<AuditVerified, { kind: 'broken' }>>;
}[] = [
  { name: 'changed', statement: `update audit set actor = 'bob' where id = 3`, found: { problem: 'changed', id: 3 } },
  {
    name: 'another time',
    statement: `update audit set at = at - interval '1 microsecond' where id = 2`,
    found: { problem: 'changed', id: 2 },
  },
  { name: 'deleted', statement: 'delete from audit where id = 4', found: { problem: 'deleted', id: 4 } },
  {
    name: 'deleted with its link',
    statement: 'delete from audit where id = 4; delete from audit_chain where audit = 4',
    found: { problem: 'link-missing', place: 4 },
  },
  {
    name: 'inserted past the chain',
    statement: `insert into audit (actor, verb) values ('bob', 'discard')`,
    found: { problem: 'inserted', id: 7 },
  },
  {
    name: 'two in each other’s place',
    statement:
      'update audit_chain set audit = -n where n in (2, 3); update audit_chain set audit = 5 - n where n in (2, 3)',
    found: { problem: 'changed', place: 2 },
  },
];

describe('the audit', () => {
  test('is broken where a record was changed, deleted, inserted or moved, and the first such record is named [X.17]', async ({
    postgres,
  }) => {
    const database = await audited(postgres, 6);
    expect(await database.operator.verifyAudit()).toMatchObject({ kind: 'whole', place: 6, checked: 6 });
    const intruder = await database.connect();
    await intruder.query('set session_replication_role = replica');
    const seen = postgresOperator({ pool: intruder, schema: database.schema });
    for (const { name, statement, found } of TAMPERINGS) {
      await intruder.query(`begin; ${statement}`);
      expect(await seen.verifyAudit(), name).toMatchObject({ kind: 'broken', ...found });
      await intruder.query('rollback');
    }
    expect(await database.operator.verifyAudit()).toMatchObject({ kind: 'whole', place: 6 });
  });

  test('that was cut off, or written anew as a whole, is known by an anchor that was kept elsewhere [X.17]', async ({
    postgres,
  }) => {
    const database = await audited(postgres, 6);
    const anchor = await anchorOf(database);
    expect(await database.operator.verifyAudit(anchor)).toMatchObject({ kind: 'whole', place: 6 });
    const intruder = await database.connect();
    await intruder.query('set session_replication_role = replica');
    await intruder.query('delete from audit where id > 4; delete from audit_chain where n > 4');
    expect(await database.operator.verifyAudit()).toMatchObject({ kind: 'whole', place: 4 });
    expect(await database.operator.verifyAudit(anchor)).toMatchObject({ kind: 'broken', problem: 'cut-off', place: 5 });
    // Somebody with all rights makes a chain of his own that holds by itself.
    await intruder.query('set session_replication_role = origin');
    await intruder.query('delete from audit_chain; create temp table kept as select * from audit; delete from audit');
    await intruder.query(
      `insert into audit (at, actor, verb, handler, details) select at, 'bob', verb, handler, details from kept order by id`,
    );
    await database.operator.pause('welcome', ANN);
    await database.operator.resume('welcome', ANN);
    expect(await database.operator.verifyAudit()).toMatchObject({ kind: 'whole', place: 6 });
    expect(await database.operator.verifyAudit(anchor)).toMatchObject({ kind: 'broken', problem: 'rewritten' });
  });

  test('of many at once is one chain, with all of a transaction that committed and nothing of one that did not [X.17]', async ({
    postgres,
  }) => {
    const database = await audited(postgres, 0);
    const dead = await Promise.all(
      Array.from({ length: 40 }, (_, n) => database.delivery({ state: 'failed', key: `k${n}` })),
    );
    const rolledBack = await database.connect();
    await rolledBack.query('begin');
    await postgresOperator({ pool: rolledBack, schema: database.schema }).pause('welcome', ANN);
    // Four connections at once, each with verbs that lock rows and then audit, and bulk verbs with many records each.
    await Promise.all([
      ...dead.slice(0, 20).map((id) => database.operator.replay(id, ANN)),
      database.operator.replayWhere({}, ANN),
      ...dead.slice(20).map((id) => database.operator.discard(id, ANN, { open: true })),
    ]);
    await rolledBack.query('rollback');
    const { items } = await database.operator.audit({ limit: 1_000 });
    expect(await database.operator.verifyAudit()).toMatchObject({ kind: 'whole', place: items.length });
    expect(items.length).toBeGreaterThanOrEqual(40);
    // Under repeatable read the end of the chain is not seen: whoever asked is told to try again, and nothing is kept.
    const old = await database.connect();
    await old.query('begin isolation level repeatable read');
    await old.query('select 1 from audit limit 1');
    await database.operator.pauseAll(ANN);
    await postgresOperator({ pool: old, schema: database.schema }).pause('welcome', ANN);
    await expect(old.query('commit')).rejects.toMatchObject({ code: '40001' });
    expect(await database.operator.verifyAudit()).toMatchObject({ kind: 'whole', place: items.length + 1 });
  });
});
