import { readFileSync } from 'node:fs';

/** The release of this package, as its package.json says; `unknown` where it was bundled into something else. */
export function packageVersion(): string {
  try {
    const file = new URL('../../package.json', import.meta.url);
    return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
  } catch {
    return 'unknown';
  }
}
