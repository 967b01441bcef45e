import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { localPostgres, planPostgres, probePostgres } from '../support/postgres-server.ts';
import { freePort, freshFolder, startPrivate, type Command } from '../support/private-server.ts';
import { embeddedPrograms } from '../support/services/embedded-postgres.ts';
import { findInitdb } from '../support/services/postgres.ts';

const exec = promisify(execFile);

/** A PostgreSQL of one test, which it may restart. It syncs each commit to disk, as every server of the tests. */
export interface PrivatePostgres {
  readonly url: string;
  readonly port: number;
  /** Its programs may write there. Gone with the test. */
  readonly folder: string;
  /** Ends it as a crash would. */
  crash(): Promise<void>;
  /** A copy of it that follows it and waits to take over. Commits are answered when it has them too. */
  standby(): Promise<Standby>;
  /** Runs a program that comes with the server, in its folder. */
  run(program: string, ...args: string[]): Promise<void>;
  /** `fast` ends all sessions and writes a checkpoint; `immediate` is a crash, and the next start recovers from it. */
  restart(mode: 'fast' | 'immediate'): Promise<void>;
}

/** A server that follows another. */
interface Standby {
  readonly url: string;
  readonly port: number;
  /** It takes over. */
  promote(): Promise<void>;
}

/** Starts one from the programs on this machine, or else from those that come with the package. Ends with the test. */
export async function privatePostgres(from: 'machine' | 'package' = 'machine'): Promise<PrivatePostgres> {
  const port = await freePort();
  const folder = freshFolder('crash-postgres');
  const isPackage = from === 'package' || process.env['HOLDFAST_POSTGRES'] === 'embedded';
  const initdb = isPackage ? undefined : findInitdb();
  const programs = initdb === undefined ? embeddedPrograms(folder) : { bin: dirname(initdb) };
  const { before = [], server = [], env } = planPostgres(programs, folder, port);
  const [prefix, settings] = splitAt(server, `${programs.bin}/postgres`);
  const files = ['-D', `${folder}/data`, '-l', `${folder}/data/log`];
  const control = (...verb: string[]): Command =>
    [...prefix, `${programs.bin}/pg_ctl`, '-w', ...files, ...verb] as unknown as Command;
  const running = await startPrivate({
    name: 'postgres that is restarted',
    folder,
    before: [...before, control('-o', settings.join(' '), 'start')],
    after: [control('-m', 'immediate', 'stop')],
    ...(env && { env }),
    probe: () => probePostgres(localPostgres(port)),
  });
  onTestFinished(() => running.stop());
  const url = localPostgres(port);
  const perform = async ([program, ...args]: Command): Promise<void> =>
    void (await exec(program, args, { cwd: folder, env: { ...process.env, ...env } }));
  const run = (program: string, ...args: string[]): Promise<void> =>
    perform([...prefix, `${programs.bin}/${program}`, ...args] as unknown as Command);
  return {
    url,
    port,
    folder,
    run,
    restart: (mode) => perform(control('-m', mode, '-o', settings.join(' '), 'restart')),
    crash: () => perform(control('-m', 'immediate', 'stop')),
    standby: () => startStandby(run, folder, url, settings),
  };
}

/** Follows the server at `url`, which from then on answers no commit that this one does not have. */
async function startStandby(
  run: PrivatePostgres['run'],
  folder: string,
  url: string,
  settings: readonly string[],
): Promise<Standby> {
  const port = await freePort();
  const data = `${folder}/standby`;
  await run('pg_basebackup', '-d', url, '-D', data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync');
  const own = settings.map((word, at) => (settings[at - 1] === '-p' ? String(port) : word));
  const control = (...verb: string[]): Promise<void> => run('pg_ctl', '-w', '-D', data, '-l', `${data}/log`, ...verb);
  await control('-o', own.join(' '), 'start');
  onTestFinished(() => control('-m', 'immediate', 'stop').catch(() => undefined));
  const admin = new Client({ connectionString: url });
  admin.on('error', () => undefined);
  await admin.connect();
  await admin.query(`alter system set synchronous_standby_names = '*'`);
  await admin.query('select pg_reload_conf()');
  const states = async (): Promise<unknown> =>
    (await admin.query('select sync_state from pg_stat_replication')).rows.map(
      (row: { sync_state: string }) => row.sync_state,
    );
  await expect.poll(states).toEqual(['sync']);
  await admin.end();
  return { url: localPostgres(port), port, promote: () => control('promote') };
}

/** The words before that one, and those after it without the data folder's option, which pg_ctl sets itself. */
function splitAt(words: readonly string[], word: string): [before: string[], after: string[]] {
  const at = words.indexOf(word);
  return [words.slice(0, at), words.slice(at + 3)];
}
