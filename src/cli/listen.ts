import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OwnListener } from '../delivery/own-listener.ts';
import type { QstashApi } from '../qstash/qstash-api.ts';
import { boundedServer, type ServerBounds } from '../server/bounded-server.ts';
import { factsOf, headersOf } from '../server/node-listener.ts';
import { isLocal } from '../server/peer.ts';
import type { OperatorServer } from '../server/operator-server.ts';
import { CliError } from './cli-error.ts';

/** A server that listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Takes no new connections; resolves when all are answered and closed. */
  close(): Promise<void>;
}

/** Which parts of this process are told of a listener, and whom it answers. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Is told where it listens before anybody can have come in. */
  readonly onListening?: ((listener: OwnListener) => void) | undefined;
  /** Programs of this machine alone are answered, whatever they ask for: somebody who needs no secret could be anybody. */
  readonly isLocalOnly?: boolean | undefined;
  readonly bounds?: ServerBounds | undefined;
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

/** Answers this machine alone: its own addresses and names, and no delivery. A name that a page of elsewhere had resolved to us is refused. */
function localOnly(listener: Mountable['listener']): Mountable['listener'] {
  return (request, response) => {
    const headers = headersOf(request);
    const isDelivery = headers.has('upstash-message-id') || headers.has('webhook-id');
    if (!isDelivery && isLocal(headers, factsOf(request))) listener(request, response);
    else response.writeHead(403, { 'content-type': 'application/json', connection: 'close' }).end(ONLY_LOCAL);
  };
}

const ONLY_LOCAL = JSON.stringify({
  error:
    'only programs of this machine are answered, over HTTP/1.1, by localhost, 127.0.0.1 or [::1] and the port that listens; no proxy and no delivery',
});

/** Serves on a port; 0 is any that is free. Slow senders, slow readers and idle connections are ended. */
export async function listen(
  server: Mountable,
  { host, port, onListening, isLocalOnly = false, bounds }: ListenOptions,
): Promise<Listening> {
  const http = boundedServer<Server>(isLocalOnly ? localOnly(server.listener) : server.listener, bounds);
  http.once('listening', () => onListening?.(http.address() as AddressInfo));
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
