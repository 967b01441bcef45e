import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

// Nothing from anywhere else, and no page of another site around ours.
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self'`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

export interface StaticFile {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** The page's file at this path; `undefined` for anything else. */
export async function findStaticFile(path: string): Promise<StaticFile | undefined> {
  // One name, no folders: there is nothing to climb out of.
  const [, name, ending = ''] = /^\/([\w-]+)\.(\w+)$/.exec(path === '/' ? '/index.html' : path) ?? [];
  const type = TYPES[ending];
  if (name === undefined || type === undefined) return undefined;
  try {
    const bytes = await readFile(fileURLToPath(new URL(`page/${name}.${ending}`, import.meta.url)));
    const headers = {
      'content-type': type,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
    };
    return { bytes, headers };
  } catch {
    return undefined;
  }
}
