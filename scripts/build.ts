import { createHash } from 'node:crypto';
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isMain } from './is-main.ts';
import { ROOT, runTool, type ToolResult } from './run-tool.ts';

const DIST = join(ROOT, 'dist');
const STAMP = join(ROOT, 'node_modules', '.cache', 'holdfast', 'built-from');

/** Compiles src/ into dist/, and the console into dist/console/. The old dist/ stays until the new one is whole, and nothing of it is left then. */
export async function build(): Promise<ToolResult> {
  const from = fingerprint();
  // Beside dist/, not below node_modules/: source maps hold the relative way to src/.
  const fresh = join(ROOT, `dist.${process.pid}`);
  const old = join(ROOT, `dist.${process.pid}.old`);
  try {
    const compiled = await runTool(['tsc', '-p', 'tsconfig.build.json', '--outDir', fresh]);
    if (!compiled.ok) return compiled;
    const bundled = await runTool(['vite', 'build', 'console', '--outDir', join(fresh, 'console')]);
    const result = { ...bundled, output: compiled.output + bundled.output, ms: compiled.ms + bundled.ms };
    if (!result.ok) return result;
    if (existsSync(DIST)) renameSync(DIST, old);
    renameSync(fresh, DIST);
    // npm does this when it installs; here `npx holdfast` runs the file itself.
    const main = join(DIST, 'cli', 'main.js');
    if (existsSync(main)) chmodSync(main, 0o755);
    mkdirSync(dirname(STAMP), { recursive: true });
    writeFileSync(STAMP, from);
    return result;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

/** Builds only if a source has changed since dist/ was made. */
export async function buildIfStale(): Promise<ToolResult> {
  const isFresh = existsSync(DIST) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === fingerprint();
  return isFresh ? { ok: true, output: '', ms: 0 } : build();
}

function fingerprint(): string {
  const hash = createHash('sha256');
  const patterns = ['src/**/*.ts', 'console/*.*', 'console/{src,public}/**/*.*', 'docs/runbooks/alerts.md'];
  const sources = globSync(patterns, { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'));
  for (const file of ['tsconfig.json', 'tsconfig.build.json', ...sources.toSorted()]) {
    hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex');
}

if (isMain(import.meta.url)) {
  const result = await build();
  process.stdout.write(result.output);
  console.log(
    result.ok ? `Built dist/ in ${(result.ms / 1000).toFixed(1)} s.` : 'The build failed; dist/ is as it was.',
  );
  process.exitCode = result.ok ? 0 : 1;
}
