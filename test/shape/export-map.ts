import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where package.json's `exports` and the folders of src/ that have an index.ts do not mirror each other. */
export function exportProblems(root: string): string[] {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> };
  const { './package.json': own, ...map } = manifest.exports;
  const problems = own === './package.json' ? [] : ['package.json does not export itself'];
  for (const [subpath, target] of Object.entries(map)) {
    const folder = subpath.replace(/^\.\/?/, '');
    if (!existsSync(join(root, 'src', folder, 'index.ts')))
      problems.push(`${subpath} is exported, but src/${folder} has no index.ts`);
    const at = `./dist/${folder === '' ? '' : `${folder}/`}index`;
    const expected = { types: `${at}.d.ts`, default: `${at}.js` };
    if (JSON.stringify(target) !== JSON.stringify(expected))
      problems.push(`${subpath} should be ${JSON.stringify(expected)}`);
  }
  const indexes = globSync('src/**/index.ts', { cwd: root });
  if (indexes.length === 0) problems.push('src/ has no index.ts at all');
  for (const index of indexes) {
    const folder = dirname(index)
      .replaceAll('\\', '/')
      .replace(/^src\/?/, '');
    const subpath = folder === '' ? '.' : `./${folder}`;
    if (!(subpath in map)) problems.push(`${index} exists, but package.json does not export ${subpath}`);
  }
  return problems;
}
