import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';

const CONFIGURATION = [
  '.oxfmtrc.jsonc',
  '.oxlintrc.json',
  'console/tsconfig.json',
  'console/vite.config.ts',
  'docs/requirements.json',
  'knip.jsonc',
  'package.json',
  'package-lock.json',
  'scripts',
  'test/support/longest-first.ts',
  'tsconfig.build.json',
  'tsconfig.json',
  'vitest.config.ts',
];

/** A repository with our tools and configuration but with these files only; removed when the test has ended. */
export function smallRepository(files: Readonly<Record<string, string>>): string {
  const exported = Object.fromEntries(
    ['src', 'src/http', 'src/retry-notice', 'src/stream', 'src/testing'].map((at) => [
      `${at}/index.ts`,
      'export const a: number = 1;\n',
    ]),
  );
  const skips = '{ "tests": {}, "services": {} }\n';
  const setUp = 'export default function setUp(): void {}\n';
  const app = {
    'console/index.html': '<!doctype html>\n<script type="module" src="./src/main.tsx"></script>\n',
    'console/src/main.tsx': "document.title = 'small';\n",
  };
  const own = { 'test/skips.json': skips, 'test/support/global-setup.ts': setUp };
  const root = planted({ ...own, ...app, ...exported, ...files });
  for (const name of CONFIGURATION) cpSync(join(ROOT, name), join(root, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  return root;
}
