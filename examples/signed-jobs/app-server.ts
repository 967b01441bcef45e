import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forExpress, type ReceiveRequest } from 'holdfast/webhooks';

/** Routes that are served. */
export interface AppServer {
  readonly url: string;
  readonly server: Server;
  /** The next answer of this path never arrives, although all is done: the connection breaks. */
  readonly loseAnswer: (path: string) => void;
}

/** Serves route handlers as Next does: by their path, `POST` alone. Listens on this machine, on any free port. */
export async function serveRoutes(
  routes: Readonly<Record<string, { readonly POST: ReceiveRequest }>>,
): Promise<AppServer> {
  const handlers = new Map(Object.entries(routes).map(([path, { POST }]) => [path, forExpress(POST)]));
  const lost = new Set<string>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const handler = handlers.get(path);
    if (lost.delete(path)) response.end = () => response.destroy();
    if (handler === undefined) response.writeHead(404).end();
    else if (request.method !== 'POST') response.writeHead(405, { allow: 'POST' }).end();
    else handler(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    loseAnswer: (path) => void lost.add(path),
  };
}
