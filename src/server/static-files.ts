import { readFile } from 'node:fs/promises';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

// Far above what a console has; a file system with other rules for names could show one file under many.
const MOST_KEPT_BYTES = 16_777_216;

const PLACEHOLDER = /<base href="[^"]*"/;

/** A web app below a path: its files, and its first page for each of its own addresses. */
export class StaticFiles {
  readonly #folder: string;
  /** Files that never change, read once for all who ask: a response has no copy of its own. */
  readonly #kept = new Map<string, Uint8Array<ArrayBuffer>>();
  #keptBytes = 0;

  constructor(folder: string | URL) {
    this.#folder = normalize(typeof folder === 'string' ? folder : fileURLToPath(folder));
  }

  /** The file at a path below the app's root; its first page where a name has no ending; nothing where there is no such file. */
  async find(path: string, basePath: string): Promise<Response | undefined> {
    const type = TYPES[extname(path)];
    const isPage = path === '' || path === 'index.html' || extname(path) === '';
    if (isPage) return this.#page(basePath);
    const file = this.#fileOf(path);
    // Names of built files hold a digest of what is inside.
    const isFixed = path.startsWith('assets/');
    const body = type === undefined || file === undefined ? undefined : await this.#read(file, isFixed);
    if (body === undefined || type === undefined) return undefined;
    const caching = isFixed ? 'public, max-age=31536000, immutable' : 'no-cache';
    const headers = { 'content-type': type, 'cache-control': caching, 'content-length': String(body.length) };
    return new Response(sharedBody(body), { headers });
  }

  async #read(file: string, isFixed: boolean): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const kept = this.#kept.get(file);
    if (kept) return kept;
    const bytes = await readOrNothing(file);
    if (bytes === undefined || !isFixed || this.#kept.has(file)) return bytes;
    if (this.#keptBytes + bytes.length > MOST_KEPT_BYTES) return bytes;
    this.#keptBytes += bytes.length;
    this.#kept.set(file, bytes);
    return bytes;
  }

  async #page(basePath: string): Promise<Response | undefined> {
    const page = await readOrNothing(join(this.#folder, 'index.html'));
    if (page === undefined) return undefined;
    const html = new TextDecoder().decode(page).replace(PLACEHOLDER, `<base href="${basePath}/"`);
    return new Response(html, { headers: { 'content-type': TYPES['.html'] ?? '', 'cache-control': 'no-cache' } });
  }

  /** Below the folder, whatever the path says. */
  #fileOf(path: string): string | undefined {
    if (path.includes('\u0000') || path.includes('\\') || path.split('/').some((part) => part.startsWith('.')))
      return undefined;
    const file = normalize(join(this.#folder, path));
    return file.startsWith(this.#folder.endsWith(sep) ? this.#folder : this.#folder + sep) ? file : undefined;
  }
}

/** A body of bytes that others read too: given as they are, a response would copy them. */
function sharedBody(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    pull: (controller) => {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

async function readOrNothing(file: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return new Uint8Array(await readFile(file));
  } catch {
    return undefined;
  }
}
