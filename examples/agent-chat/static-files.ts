import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const PAGE = fileURLToPath(new URL('page/', import.meta.url));
// The package as its users get it: the folder that its exports point to.
const PACKAGE = dirname(dirname(createRequire(import.meta.url).resolve('holdfast/retry-notice')));

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface StaticFile {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** The page's file at this path, or one of the package's modules under `/holdfast/`; `undefined` for anything else. */
export async function findStaticFile(path: string): Promise<StaticFile | undefined> {
  const inPackage = path.startsWith('/holdfast/');
  const root = inPackage ? PACKAGE : PAGE;
  const name = inPackage ? path.slice('/holdfast/'.length) : path === '/' ? 'index.html' : path.slice(1);
  const file = normalize(join(root, name));
  const type = TYPES[extname(file)];
  if (type === undefined || !file.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch {
    return undefined;
  }
  const headers: Record<string, string> = {
    'content-type': type,
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
  };
  if (file.endsWith('.html')) Object.assign(headers, pageHeaders(bytes.toString('utf8')));
  return { bytes, headers };
}

function pageHeaders(html: string): Record<string, string> {
  // The import map, through which the page names the package, must stand in the page itself; its hash lets it pass.
  const inline = [...html.matchAll(/<script type="importmap">([\s\S]*?)<\/script>/g)].map(
    (match) =>
      `'sha256-${createHash('sha256')
        .update(match[1] ?? '')
        .digest('base64')}'`,
  );
  const policy = [
    `default-src 'none'`,
    `script-src 'self' ${inline.join(' ')}`,
    `style-src 'self'`,
    `img-src 'self'`,
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ];
  return {
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}
