import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Imports a package that may or may not be installed: the one the user's folder has, else the one beside this package.
 * Nothing when there is none; a package that is there and does not load throws.
 */
export async function importPackage(name: string, cwd: string): Promise<unknown> {
  const file = findPackage(name, cwd);
  return file === undefined ? undefined : import(file);
}

/** Where such a package is, as `import` takes it. */
export function findPackage(name: string, cwd: string): string | undefined {
  for (const from of [join(cwd, 'package.json'), import.meta.url]) {
    const file = resolveFrom(from, name);
    if (file !== undefined) return pathToFileURL(file).href;
  }
  return undefined;
}

function resolveFrom(from: string, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}
