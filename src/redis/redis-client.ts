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

/** @upstash/redis: a `Redis`, which sends each command by HTTP. */
interface UpstashClient {
  createScript(script: string): unknown;
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  eval(text: string, keys: string[], args: string[]): Promise<unknown>;
}

/** A client of Redis as the application has it: ioredis, node-redis from version 4 on, or @upstash/redis. It stays the application's: we close nothing. */
export type RedisClient = IoredisClient | NodeRedisClient | UpstashClient;

/** What we need of a client library. Arguments and answers are texts, so that it does not matter how a client gives bytes. */
export interface RedisLink {
  evalSha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(text: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Sets a key that is not there, for so many milliseconds. Answers `null`, or what is there. From Redis 7 on. */
  readonly setNew: ((key: string, value: string, ttlMs: number) => Promise<unknown>) | undefined;
  /** False while the client has no connection it could send by. */
  isReady(): boolean;
}

/** The way to the server; nothing if it is no client that is known. */
export function findLink(client: unknown): RedisLink | undefined {
  if (hasMethods(client, 'evalSha', 'eval')) {
    return commandLink(client) ?? nodeRedisLink(client as unknown as NodeRedisClient);
  }
  if (hasMethods(client, 'evalsha', 'eval', 'createScript')) return upstashLink(client as unknown as UpstashClient);
  if (hasMethods(client, 'evalsha', 'eval')) {
    const known = client as unknown as IoredisClient;
    return {
      evalSha: (sha, keys, args) => known.evalsha(sha, keys.length, ...keys, ...args),
      eval: (text, keys, args) => known.eval(text, keys.length, ...keys, ...args),
      setNew: hasSet(known) ? (key, value, ttlMs) => known.set(key, value, 'PX', ttlMs, 'NX', 'GET') : undefined,
      isReady: () => known.status === 'ready',
    };
  }
  return undefined;
}

function nodeRedisLink(client: NodeRedisClient & { readonly isReady?: boolean }): RedisLink {
  return {
    evalSha: (sha, keys, args) => client.evalSha(sha, { keys: [...keys], arguments: [...args] }),
    eval: (text, keys, args) => client.eval(text, { keys: [...keys], arguments: [...args] }),
    setNew: hasSet(client) ? (key, value, PX) => client.set(key, value, { PX, NX: true, GET: true }) : undefined,
    // Its clusters and pools have no such field: they know it of each connection, and reject by themselves.
    isReady: () => client.isReady !== false,
  };
}

/** What one client of node-redis has beside its commands. */
interface CommandClient {
  readonly isReady: boolean;
  readonly options?: { readonly keyPrefix?: string; readonly commandOptions?: { readonly timeout?: number } };
  sendCommand(args: string[], options?: { readonly timeout: undefined }): Promise<unknown>;
}

/**
 * The shorter way to one server of node-redis. Its commands cost twice as much as what they do: each goes through several promises, and
 * from version 6 on gets a signal with a timer that lives until it is collected. Whoever asks through us has a limit of their own; one
 * that the application has set stays. Nothing for clusters and sentinels, which ask to be told more, and where keys get a prefix.
 */
function commandLink(client: object): RedisLink | undefined {
  const known = client as CommandClient;
  if (typeof known.isReady !== 'boolean' || !hasMethods(client, 'sendCommand') || known.sendCommand.length !== 2)
    return undefined;
  const { keyPrefix, commandOptions } = known.options ?? {};
  if (keyPrefix !== undefined) return undefined;
  const options = commandOptions?.timeout === undefined ? ({ timeout: undefined } as const) : undefined;
  return {
    evalSha: (sha, keys, args) => known.sendCommand(['EVALSHA', sha, String(keys.length), ...keys, ...args], options),
    eval: (text, keys, args) => known.sendCommand(['EVAL', text, String(keys.length), ...keys, ...args], options),
    setNew: (key, value, ttlMs) => known.sendCommand(['SET', key, value, 'PX', String(ttlMs), 'NX', 'GET'], options),
    isReady: () => known.isReady,
  };
}

/** It has no connection, so it is always ready: a request that fails is tried again by the client, as its `retry` says. */
function upstashLink(client: UpstashClient): RedisLink {
  return {
    evalSha: (sha, keys, args) => client.evalsha(sha, [...keys], [...args]).catch(asReplyError),
    eval: (text, keys, args) => client.eval(text, [...keys], [...args]).catch(asReplyError),
    setNew: hasSet(client)
      ? (key, value, px) => client.set(key, value, { px, nx: true, get: true }).catch(asReplyError)
      : undefined,
    isReady: () => true,
  };
}

/**
 * Its errors put words before the reply of the server ("Command failed: OOM …"), or the whole command behind it, with the stored response. Both
 * are removed, so that the code comes first, as with every other client, and nothing that was sent gets into a log.
 */
function asReplyError(error: unknown): never {
  if (!(error instanceof Error) || error.name !== 'UpstashError') throw error;
  const reply = error.message.replace(/^Command failed: /, '').replace(/, command was: [^]*$/, '');
  throw Object.assign(new Error(reply), { name: 'ReplyError' });
}

// Every client has it; our types do not ask for it, because each declares it in another way.
function hasSet<Client>(client: Client): client is Client & { set(...args: unknown[]): Promise<unknown> } {
  return hasMethods(client, 'set');
}

function hasMethods(value: unknown, ...names: readonly string[]): value is object {
  if (value === null || typeof value !== 'object') return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}
