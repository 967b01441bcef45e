import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Who runs the server: PostgreSQL refuses root. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** How a program of PostgreSQL is started. */
export interface Launch {
  /** Put before the program and its arguments. */
  readonly prefix: readonly string[];
  /** For `spawn`. */
  readonly as: { readonly uid?: number; readonly gid?: number };
}

/**
 * The user the server runs as, where that is not this process's own: the one the data belongs to, else `postgres`, else
 * `nobody`. `undefined` unless we are root.
 */
export function serverUser(dataFolder: string): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (existsSync(dataFolder)) {
    const { uid, gid } = statSync(dataFolder);
    if (uid !== 0) return { uid, gid };
  }
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (Number(uid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/**
 * How to start programs as `user` such that they end with us, however we end, and can reach `folders`. Where the machine has no
 * `setpriv` of util-linux they outlive a killed process, and the next start stops them.
 */
export function planLaunch(user: ServerUser | undefined, folders: readonly string[]): Launch {
  if (!hasSetpriv()) return { prefix: [], as: user ?? {} };
  const prefix = ['setpriv', '--pdeathsig=INT'];
  if (user === undefined) return { prefix, as: {} };
  prefix.push(`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups');
  // A project below /root cannot be entered by others. Root's right to pass is kept then, and nothing else of root. Without
  // the secure bit, access() answers as if the right were not there, and initdb takes its own programs for missing.
  if (folders.some((folder) => !canEnter(folder, user))) {
    prefix.push('--securebits=+no_setuid_fixup', '--inh-caps=+dac_override', '--ambient-caps=+dac_override');
  }
  return { prefix, as: {} };
}

function canEnter(folder: string, { uid, gid }: ServerUser): boolean {
  for (let at = folder; ; at = dirname(at)) {
    const found = statSync(at);
    const bit = found.uid === uid ? 0o100 : found.gid === gid ? 0o010 : 0o001;
    if ((found.mode & bit) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/** The one of util-linux; others of that name know less. */
function hasSetpriv(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return execFileSync('setpriv', ['--version'], { encoding: 'utf8', timeout: 5_000, stdio: 'pipe' }).includes(
      'util-linux',
    );
  } catch {
    return false;
  }
}
