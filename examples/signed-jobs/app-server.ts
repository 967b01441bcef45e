import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forExpress, type ReceiveRequest } from 'holdfast/webhooks';

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
  /** Answers all other paths, such as the page at `/`. */
  readonly otherwise: RequestListener;
}

/** Serves route handlers as Next does: by their path, `POST` alone. Listens on this machine alone. */
export async function serveRoutes({ port, routes, otherwise }: AppOptions): Promise<AppServer> {
  const handlers = new Map(Object.entries(routes).map(([path, { POST }]) => [path, forExpress(POST)]));
  const lost = new Set<string>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const handler = handlers.get(path);
    if (lost.delete(path)) response.end = () => response.destroy();
    if (handler === undefined) otherwise(request, response);
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
