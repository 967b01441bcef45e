import { Redis } from 'ioredis';
import { Client } from 'pg';

/** How long a server may take to answer before it counts as one that does not. */
export const REACH_MS = 5_000;

/** A server, the variable that says where it is, and how to find out whether it answers. */
export interface Reached {
  readonly server: string;
  readonly variable: string;
  readonly reach: () => Promise<void>;
}

/** A server that does not answer; the message names it, and what to do. */
export class UnreachableError extends Error {}

/** Resolves when all of them answer. Rejects with what does not, each with the variable that says where it is. */
export async function reachServers(servers: readonly Reached[]): Promise<void> {
  const problems = await Promise.all(servers.map(problemOf));
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length > 0) throw new UnreachableError(found.join('\n'));
}

export async function reachPostgres(connectionString: string): Promise<void> {
  const client = new Client({ connectionString, connectionTimeoutMillis: REACH_MS });
  await client.connect();
  await client.end();
}

export async function reachRedis(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: REACH_MS, retryStrategy: () => null });
  // What it rejects with says only that the connection is closed; why, it tells here.
  let why: unknown;
  client.on('error', (error) => (why = error));
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    throw why ?? error;
  } finally {
    client.disconnect();
  }
}

async function problemOf({ server, variable, reach }: Reached): Promise<string | undefined> {
  try {
    await reach();
    return undefined;
  } catch (error) {
    return `${server} does not answer where ${variable} says (${reasonOf(error)}); docker compose up -d starts one`;
  }
}

/** What the innermost of them says: clients wrap what the socket said. */
function reasonOf(error: unknown): string {
  const { errors, cause, code, message } = error as AggregateError & NodeJS.ErrnoException;
  const inner = (errors as unknown[] | undefined)?.[0] ?? cause;
  return inner === undefined ? (code ?? (message || 'no answer')) : reasonOf(inner);
}
