import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OperatorServer } from '../server/operator-server.ts';
import { CliError } from './cli-error.ts';

/** A server that listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Takes no new connections; resolves when all are answered and closed. */
  close(): Promise<void>;
}

/** Serves on a port; 0 is any that is free. Slow senders and idle connections are ended. */
export async function listen(server: OperatorServer, host: string, port: number): Promise<Listening> {
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
