import { PGlite } from '@electric-sql/pglite';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { sql } from 'drizzle-orm';
import { Pool } from 'pg';
import postgresJs, { type TransactionSql } from 'postgres';
import { expect, onTestFinished } from 'vitest';
import { durableCommands } from '../../src/commands/index.ts';
import { type Holdfast, holdfast } from '../../src/index.ts';
import { migrate, postgres, postgresCommands, postgresOperator, type SqlConnection } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { moduleRun } from './module-run.ts';

const test = needs('postgres');
// One test at a time has it, on each database.
const schema = 'commands_of_clients';

/** Fails once, is replayed, and is done with an effect, all through one client. `write` makes the effect, `begin` a transaction. */
async function checkClient<Tx>(
  hf: Holdfast<Tx, never>,
  pool: SqlConnection,
  begin: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
  write: (tx: Tx, n: number) => Promise<unknown>,
): Promise<void> {
  const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool, schema }) });
  const run = moduleRun('blocked', 1);
  let calls = 0;
  commands.handle(run, (_, ctx) =>
    ctx.commit(async (tx) => {
      await write(tx, (calls += 1));
      if (calls === 1) throw new Error('away');
      return { user: ctx.correlation.userId, key: ctx.idempotencyKey };
    }),
  );
  const payload = { runId: 'run_1', moduleId: 'plan' };
  const { commandId } = await begin((tx) => commands.send(tx as never, run, payload, { userId: 'ü"\\' }));
  expect(await begin((tx) => commands.send(tx as never, run, payload))).toMatchObject({ commandId, isNew: false });
  const running = await hf.start({ leaseMs: 2_000 });
  onTestFinished(() => running.stop({ drainMs: 50 }));
  expect(await commands.wait(commandId)).toMatchObject({ kind: 'blocked', error: { message: 'away' } });
  await postgresOperator({ pool, schema }).replay(commandId, { actor: 'ada' });
  const key = 'workflow:u1:run_1:module:plan:v1';
  expect(await commands.wait(commandId)).toMatchObject({ kind: 'done', answer: { user: 'ü"\\', key } });
  const steps: string[] = [];
  for await (const { to, at } of commands.events('run_1')) {
    expect(at).toBeInstanceOf(Date);
    steps.push(to);
    if (to === 'done') break;
  }
  expect(steps).toEqual(['queued', 'running', 'blocked', 'queued', 'running', 'done']);
  expect((await commands.run('run_1'))?.modules).toMatchObject([{ module: 'plan', state: 'done' }]);
}

const effects = `create table "${schema}".made (n int)`;

test('commands work the same through postgres.js [S0.7]', async ({ postgres: server }) => {
  const client = postgresJs(server.url, { max: 4, onnotice: () => undefined });
  onTestFinished(async () => {
    await client.unsafe(`drop schema "${schema}" cascade`);
    await client.end({ timeout: 1 });
  });
  const owner = await client.reserve();
  await migrate(owner, { schema });
  owner.release();
  await client.unsafe(effects);
  const hf = holdfast<TransactionSql>({ service: 'growth', store: postgres({ pool: client, schema }) });
  await checkClient<TransactionSql>(
    hf,
    client,
    (work) => client.begin(work) as never,
    (tx, n) => tx.unsafe(`insert into "${schema}".made values (${n})`),
  );
  expect(await client.unsafe(`select n from "${schema}".made`)).toEqual([{ n: 2 }]);
});

test('commands work the same where handlers get a transaction of Drizzle [S0.7]', async ({ postgres: server }) => {
  const pool = new Pool({ connectionString: server.url, max: 6 });
  onTestFinished(async () => {
    await pool.query(`drop schema "${schema}" cascade`);
    await pool.end();
  });
  const owner = await pool.connect();
  await migrate(owner, { schema });
  owner.release();
  await pool.query(effects);
  const db = drizzle(pool);
  const store = postgres({ pool, schema, wrap: (tx) => drizzle(tx) as unknown as NodePgDatabase });
  await checkClient<NodePgDatabase>(
    holdfast<NodePgDatabase>({ service: 'growth', store }),
    pool,
    (work) => db.transaction((tx) => work(tx as unknown as NodePgDatabase)),
    (tx, n) => tx.execute(sql.raw(`insert into "${schema}".made values (${n})`)),
  );
  expect((await pool.query(`select n from "${schema}".made`)).rows).toEqual([{ n: 2 }]);
});

test('commands work the same in PGlite [S0.7]', async () => {
  const lite = await PGlite.create();
  onTestFinished(() => lite.close());
  await migrate(lite, { schema });
  await lite.exec(effects);
  type Tx = Parameters<Parameters<typeof lite.transaction>[0]>[0];
  const hf = holdfast<Tx>({ service: 'growth', store: postgres({ pool: lite, schema }) });
  await checkClient<Tx>(
    hf,
    lite,
    (work) => lite.transaction(work),
    (tx, n) => tx.query(`insert into "${schema}".made values (${n})`),
  );
  expect((await lite.query(`select n from "${schema}".made`)).rows).toEqual([{ n: 2 }]);
});
