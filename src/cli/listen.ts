import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { QstashApi } from '../qstash/qstash-api.ts';
import type { OperatorServer } from '../server/operator-server.ts';
import { CliError } from './cli-error.ts';

/** A server that listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Takes no new connections; resolves when all are answered and closed. */
  close(): Promise<void>;
}

/** What answers requests of Node. */
interface Mountable {
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  close(): Promise<void>;
}

/**
 * The server with the API of deliveries beside it. Which of the two is asked is decided by the target as it came: whatever resolves dots
 * in it does so later, and cannot lead from one to the other. A message that came elsewhere because of such dots is refused.
 */
export function mounted(server: OperatorServer, api: QstashApi | undefined): Mountable {
  if (api === undefined) return server;
  return {
    listener: (request, response) => {
      if (api.isFor(request.url ?? '')) api.listener(request, response);
      else if (request.headers['upstash-method'] === undefined) server.listener(request, response);
      else response.writeHead(400, { 'content-type': 'application/json', connection: 'close' }).end(ELSEWHERE);
    },
    close: () => server.close(),
  };
}

const ELSEWHERE = JSON.stringify({ error: 'this is a message, and messages are taken in below /v2/ alone' });

/** Serves on a port; 0 is any that is free. Slow senders and idle connections are ended. */
export async function listen(server: Mountable, host: string, port: number): Promise<Listening> {
  const http = createServer(
    { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 5_000, connectionsCheckingInterval: 5_000 },
    server.listener,
  );
  http.maxConnections = 1_000;
  await bound(http, host, port);
  const { port: taken } = http.address() as AddressInfo;
  return {
    host,
    port: taken,
    close: async () => {
      const ended = new Promise<void>((resolve) => http.close(() => resolve()));
      await server.close();
      http.closeIdleConnections();
      await ended;
    },
  };
}

function bound(http: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => {
      const advice =
        error.code === 'EADDRINUSE'
          ? `port ${port} is taken; end what listens there, or choose another with --port`
          : error.code === 'EACCES'
            ? `port ${port} may not be used by this user; choose one above 1023 with --port`
            : `cannot listen on ${host}:${port} (${error.message}); see --host and --port`;
      reject(new CliError(advice, { cause: error }));
    });
    http.listen(port, host, () => resolve());
  });
}
