// npm run docs [-- --serve [port]]
//
// Makes a site of README.md, docs/ and the examples in site/: plain files, nothing is loaded from elsewhere, so site/index.html can be opened
// as it is or put on any server. With --serve it is shown at a port of this machine until Ctrl-C.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { buildSite } from './docs/build-site.ts';
import { ROOT } from './run-tool.ts';

const OUT = join(ROOT, 'site');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
};

const began = performance.now();
const { pages, broken, unlisted } = buildSite(ROOT, OUT);
for (const link of broken) console.error(`broken link: ${link}`);
for (const page of unlisted) console.error(`in no part of the navigation: ${page}`);
console.log(
  `${pages} pages in site/, ${((performance.now() - began) / 1_000).toFixed(1)} s. Open site/index.html, or add -- --serve.`,
);
if (broken.length + unlisted.length > 0) process.exitCode = 1;

const at = process.argv.indexOf('--serve');
if (at !== -1) serve(Number(process.argv[at + 1] ?? 4748));

function serve(port: number): void {
  const server = createServer((request, reply) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://here').pathname));
    const asked = join(OUT, path.endsWith('/') ? `${path}index.html` : path);
    const isThere = asked.startsWith(OUT) && existsSync(asked) && statSync(asked).isFile();
    if (!isThere) return void reply.writeHead(404, { 'content-type': 'text/plain' }).end('There is no such page.\n');
    reply.writeHead(200, { 'content-type': TYPES[extname(asked)] ?? 'text/plain; charset=utf-8' });
    createReadStream(asked).pipe(reply);
  });
  server.listen(port, '127.0.0.1', () => console.log(`Serving http://127.0.0.1:${port}/`));
  process.once('SIGINT', () => server.close()).once('SIGTERM', () => server.close());
}
