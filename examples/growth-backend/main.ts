// node examples/growth-backend/main.ts, or npm start -- growth: all processes of the example, on servers that are found or started here.
import { join, resolve } from 'node:path';
import { isHoldfastError } from 'holdfast';
import { Environment, SettingsError } from '../local-processes/environment.ts';
import { findPostgres } from '../local-processes/find-postgres.ts';
import { findRedis } from '../local-processes/find-redis.ts';
import { freePorts } from '../local-processes/free-ports.ts';
import { NotReadyError } from '../local-processes/process-keeper.ts';
import { UnreachableError } from '../local-processes/reach-server.ts';
import { untilSignal } from '../local-processes/until-signal.ts';
import { type Growth, startGrowth } from './start-growth.ts';

const FIRST_PORT = 3_100;
const PORTS = 5;

const read = new Environment(process.env);
const asked = untilSignal();
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
  for (const stop of started.toReversed()) await stop();
}

async function run(wanted: number, speed: number, callTimeoutMs: number): Promise<void> {
  const dataDir = resolve(process.env['GROWTH_DATA'] || '.holdfast');
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
  console.log(welcome(growth, database.about, redis.about));
  await asked;
}

async function portsFrom(wanted: number): Promise<number> {
  const first = await freePorts(wanted || FIRST_PORT, PORTS);
  if (wanted === 0 || first === wanted) return first;
  const taken = `GROWTH_PORT is ${wanted}, but not all of ${wanted} to ${wanted + PORTS - 1} are free`;
  throw new SettingsError(`${taken}; end what listens there, write ${first}, or leave it out`);
}

function welcome({ settings, client }: Growth, database: string, redis: string): string {
  const { partners, databaseUrl, redisUrl, a2aKey } = settings;
  return `
  All is ready.

  api        ${client.apiUrl}/workflow-runs
  interview  ${partners.interview.origin}/__ledger
  agent      ${partners.agent.origin}/__ledger
  git        ${partners.git.origin}/__ledger
  llm        ${partners.llm.origin}/__ledger
  database   ${database}
  redis      ${redis}

  In another terminal:
    export DATABASE_URL='${databaseUrl}' REDIS_URL='${redisUrl}'
    export GROWTH_API=${client.apiUrl} A2A_ALLOWED_KEY='${a2aKey}'${newerNode()}
  Try        examples/growth-backend/README.md
  Stop       Ctrl-C
`;
}

/** Where the Node of a second terminal is too old for TypeScript, the one that runs here is put before it. */
function newerNode(): string {
  const brought = process.env['HOLDFAST_BROUGHT_NODE'];
  return brought ? `\n    export PATH='${brought}':"$PATH"` : '';
}
