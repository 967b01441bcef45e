/** ioredis: a `Redis` or a `Cluster`. */
interface IoredisConnection {
  call(command: string, ...args: string[]): Promise<unknown>;
  duplicate(): IoredisConnection;
  disconnect(): void;
  on(event: 'error', listener: (error: unknown) => void): unknown;
}

/** node-redis from version 4 on: one client. */
interface NodeRedisConnection {
  sendCommand(args: string[]): Promise<unknown>;
  duplicate(): NodeRedisConnection;
  connect(): Promise<unknown>;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  destroy?(): void;
  disconnect?(): Promise<unknown>;
}

/** A client that streams can be read through: commands, and connections of our own that are made as it was made. */
export type RedisStreamClient = IoredisConnection | NodeRedisConnection;

/** Runs one command; arguments are texts, and so are the answers. */
export type RunCommand = (...args: readonly string[]) => Promise<unknown>;

/** A connection of our own. */
export interface OwnConnection {
  readonly run: RunCommand;
  /** Cuts it: what waits on it rejects. May be called twice. */
  close(): void;
}

/** What streams need of a client library. */
export interface RedisConnections {
  /** On the application's own connection. */
  readonly run: RunCommand;
  /** A connection made as the client's, for commands that wait. */
  open(): Promise<OwnConnection>;
}

/** The way to the server; nothing if it is no client that is known. */
export function findConnections(client: unknown): RedisConnections | undefined {
  if (has(client, 'call', 'duplicate', 'disconnect')) return ioredis(client as unknown as IoredisConnection);
  if (has(client, 'sendCommand', 'duplicate', 'connect')) return nodeRedis(client as unknown as NodeRedisConnection);
  return undefined;
}

function ioredis(client: IoredisConnection): RedisConnections {
  const runOn = (on: IoredisConnection): RunCommand => {
    return (command = '', ...args) => on.call(command, ...args);
  };
  return {
    run: runOn(client),
    open: async () => {
      const own = client.duplicate();
      // Without a listener it prints every failure; it reaches us as a rejection.
      own.on('error', () => undefined);
      return { run: runOn(own), close: () => own.disconnect() };
    },
  };
}

function nodeRedis(client: NodeRedisConnection): RedisConnections {
  const runOn = (on: NodeRedisConnection): RunCommand => {
    return (...args) => on.sendCommand([...args]);
  };
  return {
    run: runOn(client),
    open: async () => {
      const own = client.duplicate();
      // Without a listener it ends the process.
      own.on('error', () => undefined);
      // It tries until the server is there, which may be never: whoever waits is let go when it is closed.
      const closed = Promise.withResolvers<never>();
      const connected = Promise.race([own.connect(), closed.promise]);
      connected.catch(() => undefined);
      const run = runOn(own);
      const close = (): void => {
        closed.reject(new Error('the connection was closed'));
        cut(own);
      };
      return { run: async (...args) => connected.then(() => run(...args)), close: once(close) };
    },
  };
}

/** One that gave up by itself says so. */
function cut(own: NodeRedisConnection): void {
  try {
    if (own.destroy) own.destroy();
    else void own.disconnect?.().catch(() => undefined);
  } catch {
    // It is cut.
  }
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}

function has(value: unknown, ...names: readonly string[]): value is object {
  if (value === null || typeof value !== 'object') return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}
