import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { CERTIFICATE, KEY } from './certificate.ts';
import { freePort, freshFolder, isListening, startPrivate } from './private-server.ts';

/** An nginx in front of a server, at addresses without a slash at the end. */
export interface Nginx {
  /** With nothing set but where the server is. */
  readonly plain: string;
  /** The same with TLS, by the certificate of these tests. */
  readonly tls: string;
  /** Asks as a program of this machine does: over HTTP/1.1, with the connection kept. Newer versions do so by themselves. */
  readonly alike: string;
}

/** Puts a real nginx in front of the server at `target`, until the test ends. */
export async function startNginx(program: string, target: string): Promise<Nginx> {
  const folder = freshFolder('nginx');
  const [plain, tls, alike] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(join(folder, 'key.pem'), KEY);
  writeFileSync(join(folder, 'certificate.pem'), CERTIFICATE);
  // Where it keeps bodies: its own usual places are those of an installed one.
  const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
    mkdirSync(join(folder, name));
    return `${name}_temp_path ${join(folder, name)};`;
  });
  const to = `proxy_pass ${target};`;
  const servers = [
    `server { listen 127.0.0.1:${plain}; location / { ${to} } }`,
    `server { listen 127.0.0.1:${tls} ssl; ssl_certificate ${folder}/certificate.pem; ssl_certificate_key ${folder}/key.pem; location / { ${to} } }`,
    `server { listen 127.0.0.1:${alike}; location / { ${to} proxy_http_version 1.1; proxy_set_header Connection ""; } }`,
  ];
  const file = join(folder, 'nginx.conf');
  const main = `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log; events {}`;
  writeFileSync(file, [main, 'http { access_log off;', ...kept, ...servers, '}', ''].join('\n'));
  const { stop } = await startPrivate({
    name: 'nginx',
    folder,
    server: [program, '-p', folder, '-c', file, '-e', join(folder, 'error.log')],
    probe: async () => {
      if (!(await isListening(alike))) throw new Error('not yet');
    },
  });
  onTestFinished(stop);
  return {
    plain: `http://127.0.0.1:${plain}`,
    tls: `https://127.0.0.1:${tls}`,
    alike: `http://127.0.0.1:${alike}`,
  };
}
