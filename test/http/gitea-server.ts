import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { freePort, freshFolder, startPrivate } from '../support/private-server.ts';

/** A Gitea with one administrator. */
export interface GiteaServer {
  /** Of its REST API; ends in `/api/v1`. */
  readonly api: string;
  /** The administrator's, for everything. */
  readonly token: string;
}

const ADMIN = 'root0';

/** Starts one on a database and repositories of its own; both are gone after the test. */
export async function startGitea(program: string): Promise<GiteaServer> {
  const port = await freePort();
  const folder = freshFolder('gitea');
  const env = {
    HOME: folder,
    GITEA_WORK_DIR: folder,
    GITEA_CUSTOM: join(folder, 'custom'),
    // All of it is in this folder and on this machine, for the time of the test.
    GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT: 'true',
  };
  mkdirSync(join(folder, 'custom', 'conf'), { recursive: true });
  writeFileSync(join(folder, 'custom', 'conf', 'app.ini'), settingsOf(program, folder, port));
  const url = `http://127.0.0.1:${port}`;
  const user = ['--username', ADMIN, '--email', `${ADMIN}@users.invalid`, '--random-password', '--admin'];
  const { stop } = await startPrivate({
    name: 'gitea',
    folder,
    before: [
      [program, 'migrate'],
      [program, 'admin', 'user', 'create', ...user],
    ],
    server: [program, 'web'],
    env,
    probe: async () => {
      if (!(await fetch(`${url}/api/healthz`)).ok) throw new Error('it is not healthy yet');
    },
  });
  onTestFinished(stop);
  const make = ['admin', 'user', 'generate-access-token', '--username', ADMIN, '--scopes', 'all', '--raw'];
  const { stdout } = await promisify(execFile)(program, make, { env: { ...process.env, ...env } });
  return { api: `${url}/api/v1`, token: stdout.trim().split('\n').at(-1) ?? '' };
}

function settingsOf(program: string, folder: string, port: number): string {
  // One that was built without its files finds them beside it.
  const files = dirname(program);
  const root = existsSync(join(files, 'templates')) ? `STATIC_ROOT_PATH = ${files}` : '';
  return `
RUN_MODE = prod
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
DISABLE_SSH = true
OFFLINE_MODE = true
${root}
[database]
DB_TYPE = sqlite3
PATH = ${join(folder, 'gitea.db')}
[repository]
ROOT = ${join(folder, 'repositories')}
[security]
INSTALL_LOCK = true
SECRET_KEY = a secret of this folder, gone with it
[log]
LEVEL = warn
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
[actions]
ENABLED = false
`;
}
