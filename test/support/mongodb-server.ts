import { MongoClient, type Document } from 'mongodb';
import type { Command } from './private-server.ts';

const SET = 'holdfast';

/** What runs one server with everything below `folder`: a replica set of one, or none. */
export function mongodCommand(
  program: string,
  folder: string,
  port: number,
  options: { readonly isAlone?: boolean } = {},
): Command {
  const place = ['--dbpath', folder, '--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket'];
  const small = ['--wiredTigerCacheSizeGB', '0.25', '--setParameter', 'diagnosticDataCollectionEnabled=false'];
  // Otherwise what has expired is cleared away once a minute.
  const quick = ['--setParameter', 'ttlMonitorSleepSecs=1'];
  return [program, ...place, ...small, ...quick, ...(options.isAlone ? [] : ['--replSet', SET])];
}

/** One server, whatever set it belongs to. */
export function localMongodb(port: number): string {
  return `mongodb://127.0.0.1:${port}/?directConnection=true`;
}

/** Resolves if the server at `url` takes writes in transactions; begins its replica set where that was not done yet. */
export function probeMongodb(url: string): Promise<void> {
  return withMongodb(url, async (client) => {
    const admin = client.db('admin');
    const hello = await admin.command({ hello: 1 });
    if (hello['isreplicaset'] === true) await begin(client, url);
    if (hello['setName'] === undefined) throw new Error('it is no member of a replica set');
    if (hello['isWritablePrimary'] !== true) throw new Error('it is not the primary');
  });
}

async function begin(client: MongoClient, url: string): Promise<void> {
  const host = new URL(url).host;
  // Alone, it need not wait ten seconds for others before it is the primary again.
  const settings = { electionTimeoutMillis: 1_000 };
  const config: Document = { _id: SET, members: [{ _id: 0, host }], settings };
  await client.db('admin').command({ replSetInitiate: config });
}

/** Runs something on a client that is closed after it. */
export async function withMongodb<T>(url: string, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 2000, connectTimeoutMS: 2000 });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
