import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { freePort, freshFolder, isListening, type PrivateServer } from './private-server.ts';
import type { TestRun } from './service.ts';

const exec = promisify(execFile);
const COMPOSE_FILE = fileURLToPath(new URL('../../compose.yaml', import.meta.url));

/** How one kind of server is found. The order is the same for all: environment, usual port, docker compose, own instance. */
export interface ServerSearch {
  readonly name: string;
  /** Environment variable that holds a URL. */
  readonly variable: string;
  /** Its usual port, and the URLs to try when something listens there. */
  readonly port: number;
  readonly localUrls: readonly string[];
  /** Resolves if the server at `url` can be used. */
  readonly probe: (url: string) => Promise<void>;
  /** The service of that name in compose.yaml publishes the port named in `portVariable`. */
  readonly compose: { readonly service: string; readonly portVariable: string; readonly url: (port: number) => string };
  /** An instance of our own, from a program on this machine or one that can be brought there. */
  readonly own: {
    readonly findProgram: () => string | undefined;
    /** The package of Debian that brings the program, or what else does. */
    readonly install: string | ((run: TestRun) => Promise<void>);
    readonly plan: (program: string, folder: string, port: number) => Plan | Promise<Plan>;
    readonly url: (port: number) => string;
  };
}

type Plan = Omit<PrivateServer, 'name' | 'folder' | 'probe'>;

/** Answers the URL of a server that can be used, starting one of our own if need be. */
export async function findServer(run: TestRun, search: ServerSearch): Promise<string> {
  const given = run.env[search.variable];
  if (given !== undefined && given !== '') {
    await search.probe(given).catch((error: unknown) => {
      throw new Error(`the server named in ${search.variable} cannot be used: ${(error as Error).message}`);
    });
    return given;
  }
  for (const url of (await isListening(search.port)) ? search.localUrls : []) {
    const usable = await search.probe(url).then(yes, no);
    if (usable) return url;
  }
  return (await startByCompose(run, search)) ?? (await startOwn(run, search));
}

async function startByCompose(run: TestRun, { name, compose, probe }: ServerSearch): Promise<string | undefined> {
  if (!(await hasEngine())) return undefined;
  const port = await freePort();
  const folder = freshFolder(name);
  const docker = ['compose', '-f', COMPOSE_FILE, '-p', `holdfast-${name}-${port}`] as const;
  run.announce(`Starting ${name} with docker compose …`);
  const server = run.start({
    name,
    folder,
    before: [['docker', ...docker, 'up', '--detach', '--wait', compose.service]],
    after: [['docker', ...docker, 'down', '--volumes', '--timeout', '5']],
    env: { [compose.portVariable]: String(port) },
    probe: () => probe(compose.url(port)),
  });
  // An engine that cannot get the image is as good as none.
  const started = await server.then(yes, (error: unknown) => run.announce((error as Error).message));
  return started === true ? compose.url(port) : undefined;
}

async function startOwn(run: TestRun, { name, own, probe }: ServerSearch): Promise<string> {
  const program = own.findProgram() ?? (await installed(run, own));
  const port = await freePort();
  const folder = freshFolder(name);
  await run.start({ name, folder, ...(await own.plan(program, folder, port)), probe: () => probe(own.url(port)) });
  return own.url(port);
}

async function installed(run: TestRun, own: ServerSearch['own']): Promise<string> {
  const { install } = own;
  if (typeof install === 'string') await installDebianPackage(run, install);
  else await install(run);
  const program = own.findProgram();
  if (program === undefined)
    throw new Error(
      `${typeof install === 'string' ? `the package ${install}` : 'it'} was installed but its program is not there`,
    );
  return program;
}

/** Installs a package system-wide, after saying so. Throws where that is not possible: not Debian, or not root. */
export async function installDebianPackage(run: TestRun, name: string): Promise<void> {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) {
    throw new Error('it is neither on this machine nor can it be installed (that needs Debian or Ubuntu, as root)');
  }
  await (installing = installing.then(
    () => aptInstall(run, name),
    () => aptInstall(run, name),
  ));
}

/** The installation under way: apt-get lets in one at a time, and does not wait for its lists. */
let installing: Promise<void> = Promise.resolve();

async function aptInstall(run: TestRun, name: string): Promise<void> {
  run.announce(`Installing ${name} on this machine with apt-get, for all of its users …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const wait = ['-o', 'DPkg::Lock::Timeout=300'];
  await exec('apt-get', [...wait, 'update'], { env });
  await exec('apt-get', [...wait, 'install', '-y', '--no-install-recommends', name], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** The full path of a program on the PATH. */
export function onPath(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file) && statSync(file).isFile());
}

/** True if a user of that name exists on this machine. */
export function hasUser(name: string): boolean {
  try {
    execFileSync('id', ['-u', name], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function hasEngine(): Promise<boolean> {
  if (onPath('docker') === undefined) return false;
  return exec('docker', ['compose', 'version'], { timeout: 10_000 })
    .then(() => exec('docker', ['info'], { timeout: 10_000 }))
    .then(yes, no);
}

const yes = (): true => true;
const no = (): false => false;
