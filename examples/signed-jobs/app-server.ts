import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forExpress, type ReceiveRequest } from 'holdfast/webhooks';
import { isOwnHost } from '../local-page/routes.ts';

/** Routes that are served. */
export interface AppServer {
  readonly url: string;
  readonly server: Server;
  /** The next answer of this path never arrives, although all is done: the connection breaks. */
  readonly loseAnswer: (path: string) => void;
}

/** What `serveRoutes` takes. */
export interface AppOptions {
  readonly port: number;
  readonly routes: Readonly<Record<string, { readonly POST: ReceiveRequest }>>;
  /** The text at `/`. */
  readonly page: () => Promise<string>;
}

/** Serves route handlers as Next does: by their path, `POST` alone; and a page of text at `/`. Listens on this machine alone. */
export async function serveRoutes({ port, routes, page }: AppOptions): Promise<AppServer> {
  const handlers = new Map(Object.entries(routes).map(([path, { POST }]) => [path, forExpress(POST)]));
  const lost = new Set<string>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const handler = handlers.get(path);
    if (lost.delete(path)) response.end = () => response.destroy();
    if (handler === undefined && path === '/' && isOwnHost(request.headers.host)) void sendPage(response, page);
    else if (handler === undefined) response.writeHead(404).end();
    else if (request.method !== 'POST') response.writeHead(405, { allow: 'POST' }).end();
    else handler(request, response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    loseAnswer: (path) => void lost.add(path),
  };
}

async function sendPage(response: ServerResponse, page: () => Promise<string>): Promise<void> {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
  try {
    response.writeHead(200, headers).end(await page());
  } catch (error) {
    response.writeHead(500, headers).end(`${(error as Error).message}\n`);
  }
}
