/// <reference types="node" />
import { createServer, IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { letProcessEnd, systemEffects } from '../system/effects.ts';

/** What one listener takes on. Every field may be left out. */
export interface ServerBounds {
  /** Connections at once; further ones are closed. Default 1,000. */
  readonly maxConnections?: number | undefined;
  /** Of these, how many from one IPv4 address or one IPv6 network of 64 bits. A proxy is one peer. Default 500. */
  readonly maxConnectionsPerPeer?: number | undefined;
  /** Requests of one connection that wait for the response to an earlier one; with more it is closed. Default 16. */
  readonly maxPipelined?: number | undefined;
  /** How long a peer may take nothing of a response, in milliseconds; then its connection is closed. Default 30,000. */
  readonly stallMs?: number | undefined;
  /** How long the head of a request may take, in milliseconds. Default 10,000. */
  readonly headersMs?: number | undefined;
  /** How long a whole request may take to arrive, in milliseconds. Default 30,000. */
  readonly requestMs?: number | undefined;
  /** For tests. */
  readonly effects?: Effects | undefined;
}

/** What is used of a `Server` of Node's `http`. Written down here so that the types of this package need none of Node. */
export interface BoundedServer {
  listen(port: number, host?: string, listening?: () => void): unknown;
  close(closed?: (error?: Error) => void): unknown;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

const MAX_CONNECTIONS = 1_000;
const MAX_CONNECTIONS_PER_PEER = 500;
const MAX_PIPELINED = 16;
const STALL_MS = 30_000;
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const KEEP_ALIVE_MS = 5_000;

/**
 * A server of Node's `http` whose memory strangers cannot fill: one response of a connection is made at a time, whoever does not read or
 * send is closed, and no peer has all connections. Serve `operatorServer(…).listener` or `qstashApi(…).listener` with it. It is a `Server` of
 * `node:http`: write `boundedServer<Server>(…)` to use all of it.
 */
// oxlint-disable-next-line no-unnecessary-type-parameters -- only the caller can name Node's type
export function boundedServer<Server extends BoundedServer = BoundedServer>(
  listener: (request: never, response: never) => unknown,
  bounds: ServerBounds = {},
): Server {
  checkBounds(bounds);
  const { headersMs = HEADERS_MS, requestMs = REQUEST_MS, stallMs = STALL_MS, effects = systemEffects } = bounds;
  const connections = new Connections(listener as Listener, bounds);
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: Math.max(requestMs, headersMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: Math.min(5_000, headersMs, requestMs),
      IncomingMessage: requestClass(connections),
    },
    (request, response) => connections.take(request, response),
  );
  server.maxConnections = bounds.maxConnections ?? MAX_CONNECTIONS;
  // Node would answer these by itself, as many as there are.
  server.on('checkExpectation', (request, response) => connections.take(request, response));
  server.on('connection', (socket) => connections.open(socket));
  const sweepMs = Math.max(1, Math.min(1_000, Math.floor(stallMs / 4)));
  let timer: unknown;
  const sweep = (): void => {
    connections.sweep(effects.monoMs(), stallMs);
    begin();
  };
  const begin = (): void => {
    timer = effects.setTimer(sweep, sweepMs);
    letProcessEnd(timer);
  };
  server.on('listening', begin);
  server.on('close', () => effects.clearTimer(timer));
  return server as unknown as Server;
}

/**
 * Requests as Node makes them, but for the one too many of a connection: it looks like an upgrade that nobody takes, at which Node stops to
 * parse and closes the connection. Else a single read of 64 KiB would be made into a thousand requests before anybody could say no.
 */
function requestClass(connections: Connections): typeof IncomingMessage {
  return class extends IncomingMessage {
    // Not a private field: Node sets it while the object is made.
    declare [IS_UPGRADE]: boolean;

    get upgrade(): boolean {
      return this[IS_UPGRADE];
    }

    // Once what it is has been read, before it is handed on.
    set upgrade(is: boolean | null) {
      this[IS_UPGRADE] = is === true || (is !== null && connections.isFull(this.socket));
    }
  };
}

const IS_UPGRADE = Symbol('upgrade');

/** One connection. */
interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** Whose response is being made. */
  current: ServerResponse | undefined;
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
  /** What has left for the peer, and since when it is no more. */
  sentBytes: number;
  sentMs: number | undefined;
}

class Connections {
  readonly #listener: Listener;
  readonly #maxPipelined: number;
  readonly #maxPerPeer: number;
  readonly #all = new Map<Socket, Connection>();
  readonly #perPeer = new Map<string, number>();

  constructor(listener: Listener, bounds: ServerBounds) {
    this.#listener = listener;
    this.#maxPipelined = bounds.maxPipelined ?? MAX_PIPELINED;
    this.#maxPerPeer = bounds.maxConnectionsPerPeer ?? MAX_CONNECTIONS_PER_PEER;
  }

  open(socket: Socket): void {
    const peer = peerOf(socket.remoteAddress ?? '');
    const of = this.#perPeer.get(peer) ?? 0;
    if (of >= this.#maxPerPeer) return void socket.destroy();
    this.#perPeer.set(peer, of + 1);
    const connection = { socket, peer, current: undefined, waiting: [], sentBytes: 0, sentMs: undefined };
    this.#all.set(socket, connection);
    socket.once('close', () => this.#closed(connection));
  }

  /** As many requests of the connection wait as may. */
  isFull(socket: Socket): boolean {
    return (this.#all.get(socket)?.waiting.length ?? 0) >= this.#maxPipelined;
  }

  /** Requests of a connection are answered one after the other: Node would start them all, and keep what is made until it is read. */
  take(request: IncomingMessage, response: ServerResponse): void {
    if (isFramedTwice(request)) return this.#refuse(request, response);
    const connection = this.#all.get(request.socket);
    // Closed already: Node goes on with what it had read.
    if (connection === undefined || request.socket.destroyed) return;
    if (connection.current === undefined) return this.#answer(connection, request, response);
    if (connection.waiting.length >= this.#maxPipelined) return void request.socket.destroy();
    connection.waiting.push([request, response]);
  }

  /** The last response of the connection: what has been read behind the request already is not taken for one. */
  #refuse({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#all.delete(socket);
    response.writeHead(400, { connection: 'close' }).end(() => socket.destroy());
  }

  /** Closes whoever has taken nothing of what waits for them in all this time. */
  sweep(nowMs: number, stallMs: number): void {
    for (const connection of this.#all.values()) {
      const { socket } = connection;
      const sentBytes = socket.bytesWritten - socket.writableLength;
      const isMoving = socket.writableLength === 0 || sentBytes !== connection.sentBytes;
      connection.sentBytes = sentBytes;
      if (isMoving) connection.sentMs = undefined;
      else connection.sentMs ??= nowMs;
      if (connection.sentMs !== undefined && nowMs - connection.sentMs >= stallMs) socket.destroy();
    }
  }

  #answer(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.current = response;
    response.once('close', () => {
      connection.current = undefined;
      const next = connection.waiting.shift();
      if (next && !connection.socket.destroyed) this.#answer(connection, ...next);
    });
    this.#listener(request, response);
  }

  #closed({ socket, peer, waiting }: Connection): void {
    waiting.length = 0;
    this.#all.delete(socket);
    const left = (this.#perPeer.get(peer) ?? 1) - 1;
    if (left > 0) this.#perPeer.set(peer, left);
    else this.#perPeer.delete(peer);
  }
}

/** HTTP/1.0 has no chunks: a proxy that goes by that sees the body as further requests, or a part of it (RFC 9112, 6.1). */
function isFramedTwice({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined;
}

/** Whom connections are counted by: whoever has one IPv6 address has a network of them. */
function peerOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').filter(Boolean).length;
  return [...groups, ...Array.from({ length: missing }, () => '0')].slice(0, 4).join(':');
}

const NUMBERS = {
  maxConnections: 1_000_000,
  maxConnectionsPerPeer: 1_000_000,
  maxPipelined: 10_000,
  stallMs: 3_600_000,
  headersMs: 3_600_000,
  requestMs: 3_600_000,
} as const;

function checkBounds(bounds: ServerBounds): void {
  const check = new OptionCheck('boundedServer()');
  if (!check.object('bounds', bounds, 'pass { maxConnections: 1000 }, or leave it out')) check.done();
  check.known(bounds, [...(Object.keys(NUMBERS) as (keyof ServerBounds)[]), 'effects']);
  for (const [name, max] of Object.entries(NUMBERS)) {
    const value = bounds[name as keyof typeof NUMBERS];
    if (value !== undefined)
      check.number(name, value, { min: 1, max, integer: true, write: `write a whole number from 1 to ${max}` });
  }
  check.done();
}
