import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { boundedServer } from 'holdfast/server';
import type { Board } from './board-state.ts';
import { answerRoute, type HttpExchange, type Route, sendJson, sendProblem, targetOf } from './routes.ts';
import { staticFiles } from './static-files.ts';

/** What `boardListener` takes. */
export interface BoardOptions {
  readonly read: () => Promise<Board>;
  /** What else is answered, below a path such as `/console/`. */
  readonly mounts?: Readonly<Record<string, RequestListener>>;
  readonly routes?: readonly Route<HttpExchange>[];
}

/** Answers the page of an example at `/`, which shows what `read` gives, once a second while somebody looks. */
export function boardListener({ read, mounts = {}, routes = [] }: BoardOptions): RequestListener {
  const findFile = staticFiles(fileURLToPath(new URL('page/', import.meta.url)));
  const readOnce = shared(read);
  const all: readonly Route<HttpExchange>[] = [
    ...routes,
    {
      method: 'GET',
      path: /^\/board$/,
      answer: async ({ response }) => sendJson(response, 200, await readOnce()),
    },
  ];
  return (request: IncomingMessage, response: ServerResponse): void => {
    const path = targetOf(request)?.pathname ?? '';
    const mount = Object.keys(mounts).find((name) => path === name.slice(0, -1) || path.startsWith(name));
    if (mount !== undefined) return mounts[mount]?.(request, response);
    answerRoute({ request, response }, all, findFile).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendProblem(response, 500, (error as Error).message);
    });
  };
}

/** A page that listens. */
export interface RunningBoard {
  readonly url: string;
  close(): Promise<void> | void;
}

/** Serves it on this machine alone; 0 is any free port. Rejects with the system's error where the port is taken. */
export async function serveBoard(options: BoardOptions, port: number): Promise<RunningBoard> {
  const server = boundedServer<Server>(boardListener(options));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return { url: urlOf(server), close: () => closeNow(server) };
}

function urlOf(server: Server): string {
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/** Several pages that ask at once get one answer. */
function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => (underWay ??= read().finally(() => (underWay = undefined)));
}
