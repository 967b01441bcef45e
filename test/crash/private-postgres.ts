import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { localPostgres, planPostgres, probePostgres } from '../support/postgres-server.ts';
import { freePort, freshFolder, startPrivate, type Command } from '../support/private-server.ts';
import { embeddedPrograms } from '../support/services/embedded-postgres.ts';
import { findInitdb } from '../support/services/postgres.ts';

const exec = promisify(execFile);

/** A PostgreSQL of one test, which it may restart. It syncs each commit to disk, as every server of the tests. */
export interface PrivatePostgres {
  readonly url: string;
  /** `fast` ends all sessions and writes a checkpoint; `immediate` is a crash, and the next start recovers from it. */
  restart(mode: 'fast' | 'immediate'): Promise<void>;
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
  return {
    url: localPostgres(port),
    async restart(mode) {
      const [program, ...args] = control('-m', mode, '-o', settings.join(' '), 'restart');
      await exec(program, args, { cwd: folder, env: { ...process.env, ...env } });
    },
  };
}

/** The words before that one, and those after it without the data folder's option, which pg_ctl sets itself. */
function splitAt(words: readonly string[], word: string): [before: string[], after: string[]] {
  const at = words.indexOf(word);
  return [words.slice(0, at), words.slice(at + 3)];
}
