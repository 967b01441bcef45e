import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram, type ToolResult } from './run-tool.ts';

/** Packs the package into a folder, as `npm publish` would, and answers with the file. */
export async function pack(folder: string): Promise<ToolResult & { readonly file: string }> {
  const packed = await runProgram([
    'npm',
    'pack',
    '--ignore-scripts',
    '--loglevel=error',
    '--pack-destination',
    folder,
  ]);
  const name = readdirSync(folder).find((entry) => entry.endsWith('.tgz'));
  return { ...packed, ok: packed.ok && name !== undefined, file: join(folder, name ?? '') };
}
