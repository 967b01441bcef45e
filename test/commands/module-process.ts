// node module-process.ts <url> <schema>
//
// A worker of a service whose modules take note of what they do in the table `visit`. Says `ready`, and `hangs <command id>` when it was
// given a module that hangs in the first process that has it.
import { Pool, type PoolClient } from 'pg';
import { durableCommands } from '../../src/commands/index.ts';
import { holdfast } from '../../src/index.ts';
import { postgres, postgresCommands } from '../../src/postgres/index.ts';
import { moduleRun } from './module-run.ts';

const [url = '', schema = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 8 });
const hf = holdfast<PoolClient>({ service: 'orders', store: postgres({ pool, schema }) });
const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool, schema }) });

commands.handle(moduleRun(), async ({ runId, moduleId }, ctx) => {
  if (moduleId === 'hangs' && (await isFirst(ctx.commandId))) {
    process.stdout.write(`hangs ${ctx.commandId}\n`);
    await new Promise(() => setInterval(() => undefined, 1_000));
  }
  // Refused by the primary key if another command of the run is at work anywhere.
  await pool.query(`insert into "${schema}".busy values ($1, $2)`, [runId, process.pid]);
  if (moduleId === 'first') await untilTwoRuns();
  await pool.query(`delete from "${schema}".busy where run = $1`, [runId]);
  return ctx.commit(async (tx) => {
    await tx.query(`insert into "${schema}".visit (run, module, pid) values ($1, $2, $3)`, [
      runId,
      moduleId,
      process.pid,
    ]);
    return { pid: process.pid };
  });
});

/** Goes on when commands of another run are at work at the same time: where runs wait for each other, that never is. */
async function untilTwoRuns(): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ n: number }>(
      `select (select count(*)::int from "${schema}".busy) + (select count(*)::int from "${schema}".visit) as n`,
    );
    if ((rows[0]?.n ?? 0) > 1) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function isFirst(commandId: string): Promise<boolean> {
  const { rowCount } = await pool.query(`insert into "${schema}".hung values ($1) on conflict do nothing`, [commandId]);
  return rowCount === 1;
}

await hf.start({ leaseMs: 1_000 });
process.stdout.write('ready\n');
