import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface StaticFile {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** The file at the path of a request; `undefined` for anything else. */
export type FindFile = (path: string) => Promise<StaticFile | undefined>;

/**
 * Serves the page in the folder `page`, what all pages share under `/local/`, and further folders under the names they are given,
 * such as `/holdfast/`. Nothing outside of these.
 */
export function staticFiles(page: string, further: Readonly<Record<string, string>> = {}): FindFile {
  const folders = Object.entries({ ...further, '/local/': fileURLToPath(new URL('.', import.meta.url)), '/': page });
  return async (path) => {
    const [start, folder] = folders.find(([name]) => path.startsWith(name)) ?? ['/', page];
    const root = folder.endsWith(sep) ? folder : folder + sep;
    const file = normalize(join(root, path === '/' ? 'index.html' : path.slice(start.length)));
    const type = TYPES[extname(file)];
    if (type === undefined || !file.startsWith(root)) return undefined;
    const bytes = await readFile(file).catch(() => undefined);
    if (bytes === undefined) return undefined;
    const headers = { 'content-type': type, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' };
    return {
      bytes,
      headers: file.endsWith('.html') ? { ...headers, ...pageHeaders(bytes.toString('utf8')) } : headers,
    };
  };
}

/** Nothing from anywhere else, and no page of another site around ours. */
function pageHeaders(html: string): Record<string, string> {
  // An import map must stand in the page itself; its hash lets it pass.
  const inline = [...html.matchAll(/<script type="importmap">([\s\S]*?)<\/script>/g)].map(
    (match) =>
      `'sha256-${createHash('sha256')
        .update(match[1] ?? '')
        .digest('base64')}'`,
  );
  const policy = [
    `default-src 'none'`,
    ['script-src', `'self'`, ...inline].join(' '),
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
