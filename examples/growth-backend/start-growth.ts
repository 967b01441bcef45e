import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { Pool, type QueryResultRow } from 'pg';
import { freePorts } from '../local-processes/free-ports.ts';
import { type Kept, type OnLine, ProcessKeeper } from '../local-processes/process-keeper.ts';
import { GROW_STREAM } from './events/grow-stream.ts';
import { GrowthClient } from './growth-client.ts';
import { prepare } from './prepare.ts';
import { PARTNERS, type PartnerName, readSettings, type Settings } from './settings.ts';

/** The processes of the example. */
type GrowthProcess = 'api' | 'worker' | 'events' | PartnerName;

/** Where it runs. */
export interface StartGrowthOptions {
  /** What is missing in it is made. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Stands before the names of streams. Default: nothing. */
  readonly prefix?: string;
  /** How many times shorter than real waits are. Default 1. */
  readonly speed?: number;
  /** How long one try of a call to another service may take. Default 10,000. */
  readonly callTimeoutMs?: number;
  /** The first of five ports: the API's, then the partners'. Default: free ones. */
  readonly firstPort?: number;
  /** Where partners keep what they know. Default: a folder of its own, removed at the end. */
  readonly dataDir?: string;
  /** Told each line that a process writes. Default: nobody. */
  readonly onLine?: OnLine;
}

/** A line of the log, with the process that wrote it. */
export type GrowthLine = Readonly<Record<string, unknown>> & { readonly process: GrowthProcess };

/** The example at work: its processes, what they say, and what can be done to them. */
export interface Growth {
  readonly settings: Settings;
  /** What its processes were told; the command line wants the same. */
  readonly env: NodeJS.ProcessEnv;
  readonly client: GrowthClient;
  /** The stream of canonical events, and that of its dead letters. */
  readonly streams: { readonly events: string; readonly dead: string };
  readonly redis: Redis;
  /** All lines of JSON that its processes have written, in the order in which they came here. */
  readonly lines: () => readonly GrowthLine[];
  readonly query: <Row extends QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;
  /** Writes an event into the stream, as a service does that knows nothing of Holdfast; answers the entry's id. */
  emit(event: object): Promise<string>;
  pidOf(name: GrowthProcess): number | undefined;
  /** SIGKILL; it stays down until `revive`. A process that is killed from elsewhere is started again by itself. */
  kill(name: GrowthProcess): Promise<void>;
  revive(name: GrowthProcess): Promise<void>;
  /** SIGSTOP: it accepts connections and does nothing, until `thaw`. */
  freeze(name: GrowthProcess): void;
  thaw(name: GrowthProcess): void;
  stop(): Promise<void>;
}

const FIRST_PORT = 21_000;
const PORTS = 1 + PARTNERS.length;

/** Starts every process of the example, and resolves when all are ready. */
export async function startGrowth(options: StartGrowthOptions): Promise<Growth> {
  const ends: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    return await start(options, ends, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(options: StartGrowthOptions, ends: (() => unknown)[], stop: () => Promise<void>): Promise<Growth> {
  const env = await environmentOf(options, ends);
  const settings = readSettings(env);
  await prepare(settings.databaseUrl);
  const lines: GrowthLine[] = [];
  const keeper = new ProcessKeeper(env, (name, line) => {
    options.onLine?.(name, line);
    if (line.startsWith('{')) lines.push(lineOf(name as GrowthProcess, line));
  });
  ends.push(() => keeper.stop());
  await Promise.all(programs().map((kept) => keeper.start(kept)));
  const pool = new Pool({ connectionString: settings.databaseUrl, max: 4 });
  pool.on('error', () => undefined);
  const redis = new Redis(settings.redisUrl);
  redis.on('error', () => undefined);
  ends.push(
    () => pool.end(),
    () => redis.disconnect(),
  );
  const events = settings.prefix + GROW_STREAM;
  const signal = (name: GrowthProcess, kind: NodeJS.Signals): void => {
    const pid = keeper.pidOf(name);
    if (pid !== undefined) process.kill(pid, kind);
  };
  return {
    settings,
    env,
    client: new GrowthClient(settings),
    streams: { events, dead: `${events}.dlq` },
    redis,
    lines: () => lines,
    query: async (text, values = []) => (await pool.query(text, [...values])).rows as never,
    emit: async (event) => (await redis.xadd(events, '*', 'event', JSON.stringify(event))) ?? '',
    pidOf: (name) => keeper.pidOf(name),
    kill: (name) => keeper.kill(name),
    revive: (name) => keeper.revive(name),
    freeze: (name) => signal(name, 'SIGSTOP'),
    thaw: (name) => signal(name, 'SIGCONT'),
    stop,
  };
}

async function environmentOf(options: StartGrowthOptions, ends: (() => unknown)[]): Promise<NodeJS.ProcessEnv> {
  const { databaseUrl, redisUrl, prefix = '', speed = 1, callTimeoutMs = 10_000 } = options;
  const firstPort = options.firstPort ?? (await freePorts(FIRST_PORT + (process.pid % 1_000) * PORTS, PORTS));
  let { dataDir } = options;
  if (dataDir === undefined) {
    const folder = await mkdtemp(join(tmpdir(), 'growth-'));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    dataDir = folder;
  }
  const partnerUrl = (n: number): string => `http://127.0.0.1:${firstPort + n}`;
  return {
    ...process.env,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    GROWTH_PREFIX: prefix,
    GROWTH_SPEED: String(speed),
    GROWTH_CALL_TIMEOUT_MS: String(callTimeoutMs),
    GROWTH_DATA: dataDir,
    GROWTH_PORT: String(firstPort),
    INTERVIEW_URL: partnerUrl(1),
    OPENCODE_URL: partnerUrl(2),
    GITEA_URL: partnerUrl(3),
    LLM_URL: partnerUrl(4),
  };
}

function programs(): readonly Kept[] {
  const relay = [file('../../dist/cli/main.js'), 'relay', '--config', file('holdfast.config.ts')];
  return [
    ...PARTNERS.map((name) => ({ name, args: [file('partners/main.ts'), name], ready: /is ready/ })),
    { name: 'events', args: relay, ready: /started as worker/ },
    { name: 'worker', args: [file('worker/main.ts')], ready: /is ready/ },
    { name: 'api', args: [file('api/main.ts')], ready: /is ready/ },
  ];
}

function file(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

function lineOf(name: GrowthProcess, line: string): GrowthLine {
  try {
    return { ...(JSON.parse(line) as object), process: name };
  } catch {
    return { process: name, message: line };
  }
}
