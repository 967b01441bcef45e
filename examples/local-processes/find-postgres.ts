import { relative } from 'node:path';
import { embeddedPostgres } from 'holdfast/embedded';
import { reachPostgres, reachServers } from './reach-server.ts';

/** A PostgreSQL to work with. */
export interface FoundPostgres {
  readonly url: string;
  /** What people are told about it. */
  readonly about: string;
  /** Ends it, if it was started here. */
  readonly stop: () => Promise<void>;
}

/** The one that `DATABASE_URL` names, else one of our own with its data in `dataDir`. */
export async function findPostgres(given: string | undefined, dataDir: string): Promise<FoundPostgres> {
  if (given) {
    await reachServers([{ server: 'PostgreSQL', variable: 'DATABASE_URL', reach: () => reachPostgres(given) }]);
    return { url: given, about: 'the one that DATABASE_URL names', stop: () => Promise.resolve() };
  }
  const server = await embeddedPostgres({ dataDir });
  const about = `PostgreSQL ${server.major} of our own, data in ${relative(process.cwd(), dataDir) || '.'}`;
  return { url: server.url, about, stop: () => server.stop() };
}
