import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** True in the module that `node` was started with (`import.meta.main` is not in Node 22). */
export function isMain(moduleUrl: string): boolean {
  const started = process.argv[1];
  return started !== undefined && realpathSync(started) === fileURLToPath(moduleUrl);
}
