import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parseAst } from 'vitest/node';

/** What the root export may weigh, compressed, with comments and full names as published: retries, the engine, the ways to brokers, sealed and versioned payloads. A bundler makes less of it. */
export const ROOT_BUDGET_BYTES = 112_000;

/** The files that `import 'holdfast'` loads from the package in `folder`, and their size compressed together. */
export function rootSize(folder: string): { readonly files: readonly string[]; readonly gzipBytes: number } {
  const files: string[] = [];
  const visit = (file: string): void => {
    if (files.includes(file)) return;
    files.push(file);
    const code = readFileSync(join(folder, file), 'utf8');
    for (const statement of parseAst(code).body) {
      const specifier = 'source' in statement ? statement.source?.value : undefined;
      if (specifier === undefined) continue;
      if (!specifier.startsWith('.'))
        throw new Error(`${file} imports ${specifier}: the root export has no dependency`);
      visit(join(dirname(file), specifier));
    }
  };
  visit('dist/index.js');
  const code = files.map((file) => readFileSync(join(folder, file)));
  return { files, gzipBytes: gzipSync(Buffer.concat(code)).length };
}
