// npm start -- substrate: a database, one worker of generation 1 in a process of its own, and a page that shows all of it.
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isHoldfastError } from 'holdfast';
import { postgresOperator } from 'holdfast/postgres';
import { Pool } from 'pg';
import { serveBoard } from '../local-page/board.ts';
import { askedPort, startOnAskedPort } from '../local-page/free-port.ts';
import { mountConsole } from '../local-page/operator-console.ts';
import { findPostgres } from '../local-processes/find-postgres.ts';
import { NotReadyError, ProcessKeeper } from '../local-processes/process-keeper.ts';
import { UnreachableError } from '../local-processes/reach-server.ts';
import { untilSignal } from '../local-processes/until-signal.ts';
import { commandsOf, readBoard } from './board.ts';
import { prepare } from './substrate.ts';

const asked = askedPort();
const stopped = untilSignal();
const started: (() => unknown)[] = [];
try {
  await run();
} catch (error) {
  const isExpected = error instanceof UnreachableError || error instanceof NotReadyError || isHoldfastError(error);
  if (!isExpected) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await stopAll();
}

async function run(): Promise<void> {
  const dataDir = resolve(process.env['HOLDFAST_SUBSTRATE_DATA'] || '.holdfast/substrate');
  const database = await findPostgres(process.env['DATABASE_URL'], dataDir);
  started.push(database.stop);
  const pool = new Pool({ connectionString: database.url, max: 4 });
  pool.on('error', (error) => console.error(`A connection to the database was lost: ${error.message}`));
  started.push(() => pool.end());
  await prepare(pool);

  const keeper = new ProcessKeeper({ ...process.env, DATABASE_URL: database.url });
  started.push(() => keeper.stop());
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  await keeper.start({ name: 'generation 1', args: [main, 'worker', '--generation', '1'], ready: /is at work/ });

  const operator = postgresOperator({ pool });
  const ops = mountConsole(operator, '/console/');
  started.push(ops.close);
  const commands = commandsOf(database.shellUrl);
  const read = (): ReturnType<typeof readBoard> => readBoard({ pool, operator, commands });
  const options = { read, mounts: { [ops.path]: ops.listener } };
  const page = await startOnAskedPort(asked, (port) => serveBoard(options, port), stopAll);
  started.push(() => page.close());
  const list = commands.map(({ about, command }) => `  ${about}:\n    ${command}\n`).join('\n');
  console.log(`
  All is ready.

  Open     ${page.url}   invoices, their events and what became of them
  Console  ${page.url}/console/
  Data     ${database.about}

  In another terminal, in this folder:

${list}
  Runbook  docs/runbooks/event-substrate.md
  Stop     Ctrl-C
`);
  await stopped;
}

async function stopAll(): Promise<void> {
  for (const stop of started.splice(0).toReversed()) await stop();
}
