/** ioredis: a `Redis` or a `Cluster`. */
interface IoredisClient {
  readonly status: string;
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(text: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

interface NodeRedisCall {
  keys: string[];
  arguments: string[];
}

/** node-redis 4 to 6: a client, a pool, a sentinel or a cluster. */
interface NodeRedisClient {
  evalSha(sha: string, call: NodeRedisCall): Promise<unknown>;
  eval(text: string, call: NodeRedisCall): Promise<unknown>;
}

/** A client of Redis as the application has it: ioredis, or node-redis from version 4 on. It stays the application's: we close nothing. */
export type RedisClient = IoredisClient | NodeRedisClient;

/** What we need of a client library. Arguments and answers are texts, so that it does not matter how a client gives bytes. */
export interface RedisLink {
  evalSha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(text: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** False while the client has no connection it could send by. */
  isReady(): boolean;
}

/** The way to the server; nothing if it is no client that is known. */
export function findLink(client: unknown): RedisLink | undefined {
  if (hasMethods(client, 'evalSha', 'eval')) {
    const known = client as unknown as NodeRedisClient & { readonly isReady?: boolean };
    return {
      evalSha: (sha, keys, args) => known.evalSha(sha, { keys: [...keys], arguments: [...args] }),
      eval: (text, keys, args) => known.eval(text, { keys: [...keys], arguments: [...args] }),
      // Its clusters and pools have no such field: they know it of each connection, and reject by themselves.
      isReady: () => known.isReady !== false,
    };
  }
  if (hasMethods(client, 'evalsha', 'eval')) {
    const known = client as unknown as IoredisClient;
    return {
      evalSha: (sha, keys, args) => known.evalsha(sha, keys.length, ...keys, ...args),
      eval: (text, keys, args) => known.eval(text, keys.length, ...keys, ...args),
      isReady: () => known.status === 'ready',
    };
  }
  return undefined;
}

function hasMethods(value: unknown, ...names: readonly string[]): value is object {
  if (value === null || typeof value !== 'object') return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}
