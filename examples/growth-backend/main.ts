// node examples/growth-backend/main.ts, or npm start -- growth: all processes of the example, on servers that are found or started here.
import { join, resolve } from 'node:path';
import { isHoldfastError } from 'holdfast';
import { postgresOperator } from 'holdfast/postgres';
import { Pool } from 'pg';
import { serveBoard } from '../local-page/board.ts';
import { askedPort, startOnAskedPort } from '../local-page/free-port.ts';
import { mountConsole } from '../local-page/operator-console.ts';
import { Environment, SettingsError } from '../local-processes/environment.ts';
import { findPostgres } from '../local-processes/find-postgres.ts';
import { findRedis } from '../local-processes/find-redis.ts';
import { freePorts } from '../local-processes/free-ports.ts';
import { NotReadyError } from '../local-processes/process-keeper.ts';
import { secondTerminal } from '../local-processes/second-terminal.ts';
import { UnreachableError } from '../local-processes/reach-server.ts';
import { untilSignal } from '../local-processes/until-signal.ts';
import { commandsOf, readBoard } from './board.ts';
import { type Growth, startGrowth } from './start-growth.ts';

type Commands = ReturnType<typeof commandsOf>;

const FIRST_PORT = 3_100;
const PORTS = 5;

const read = new Environment(process.env);
const asked = untilSignal();
const pagePort = askedPort();
const started: (() => Promise<void>)[] = [];
try {
  const speed = read.number('GROWTH_SPEED', 1, [1, 1_000]);
  const wanted = read.number('GROWTH_PORT', 0, [0, 65_535 - PORTS]);
  const callTimeoutMs = read.number('GROWTH_CALL_TIMEOUT_MS', 10_000, [1, 600_000]);
  read.check();
  await run(wanted, speed, callTimeoutMs);
} catch (error) {
  const isExpected = [SettingsError, UnreachableError, NotReadyError].some((kind) => error instanceof kind);
  if (!isExpected && !isHoldfastError(error)) throw error;
  const inUse = isHoldfastError(error) && error.code === 'EMBEDDED_IN_USE';
  console.error(inUse ? `${error.message} with GROWTH_DATA` : (error as Error).message);
  process.exitCode = 1;
} finally {
  await stopAll();
}

async function run(wanted: number, speed: number, callTimeoutMs: number): Promise<void> {
  const dataDir = resolve(process.env['GROWTH_DATA'] || '.holdfast/growth');
  const database = await findPostgres(process.env['DATABASE_URL'], dataDir);
  started.push(database.stop);
  const redis = await findRedis(process.env['REDIS_URL'], join(dataDir, 'redis'));
  started.push(redis.stop);
  const growth = await startGrowth({
    databaseUrl: database.url,
    redisUrl: redis.url,
    prefix: process.env['GROWTH_PREFIX'] ?? '',
    speed,
    callTimeoutMs,
    firstPort: await portsFrom(wanted),
    dataDir: join(dataDir, 'partners'),
    onLine: (name, line) => console.log(`${name.padEnd(9)} ${line}`),
  });
  started.push(() => growth.stop());
  const commands = commandsOf(setUpOf(growth, database.shellUrl, redis.url));
  const page = await servePage(growth, commands);
  console.log(welcome({ growth, page, commands, database: database.about, redis: redis.about }));
  await asked;
}

async function stopAll(): Promise<void> {
  for (const stop of started.splice(0).toReversed()) await stop();
}

/** The page at `/`, with the console over the same database. */
async function servePage(growth: Growth, commands: Commands): Promise<string> {
  const pool = new Pool({ connectionString: growth.settings.databaseUrl, max: 4 });
  pool.on('error', (error) => console.error(`A connection to the database was lost: ${error.message}`));
  started.push(() => pool.end());
  const operator = postgresOperator({ pool });
  const ops = mountConsole(operator, '/console/');
  started.push(ops.close);
  const options = {
    read: () => readBoard({ growth, operator, commands }),
    mounts: { [ops.path]: ops.listener },
  };
  const page = await startOnAskedPort(pagePort, (port) => serveBoard(options, port), stopAll);
  started.push(async () => page.close());
  return page.url;
}

async function portsFrom(wanted: number): Promise<number> {
  const first = await freePorts(wanted || FIRST_PORT, PORTS);
  if (wanted === 0 || first === wanted) return first;
  const taken = `GROWTH_PORT is ${wanted}, but not all of ${wanted} to ${wanted + PORTS - 1} are free`;
  throw new SettingsError(`${taken}; end what listens there, write ${first}, or leave it out`);
}

function setUpOf({ settings, client }: Growth, databaseUrl: string | undefined, redisUrl: string): string {
  const redis = URL.parse(redisUrl)?.password ? undefined : `'${redisUrl}'`;
  const api = { GROWTH_API: client.apiUrl, A2A_ALLOWED_KEY: `'${settings.a2aKey}'` };
  return secondTerminal({ DATABASE_URL: databaseUrl, REDIS_URL: redis, ...api });
}

interface Welcome {
  readonly growth: Growth;
  readonly page: string;
  readonly commands: Commands;
  readonly database: string;
  readonly redis: string;
}

function welcome({ growth: { settings, client }, page, commands, database, redis }: Welcome): string {
  const { partners } = settings;
  return `
  All is ready.

  Open       ${page}   runs, services, events and dead letters
  console    ${page}/console/
  api        ${client.apiUrl}/workflow-runs
  interview  ${partners.interview.origin}/__ledger
  agent      ${partners.agent.origin}/__ledger
  git        ${partners.git.origin}/__ledger
  llm        ${partners.llm.origin}/__ledger
  database   ${database}
  redis      ${redis}

  In another terminal, in this folder:

${commands.map(({ about, command }) => `  ${about}:\n    ${command}\n`).join('\n')}
  More       examples/growth-backend/README.md
  Stop       Ctrl-C
`;
}
