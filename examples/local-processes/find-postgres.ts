import { relative } from 'node:path';
import { embeddedPostgres } from 'holdfast/embedded';
import { reachPostgres, reachServers } from './reach-server.ts';

/** A PostgreSQL to work with. */
export interface FoundPostgres {
  readonly url: string;
  /** What people are told about it. */
  readonly about: string;
  /** What a shell takes for its address; a password is not in it, so an address with one that was given is not told. */
  readonly shellUrl: string | undefined;
  /** Ends it, if it was started here. */
  readonly stop: () => Promise<void>;
}

/** The one that `DATABASE_URL` names, else one of our own with its data in `dataDir`. */
export async function findPostgres(given: string | undefined, dataDir: string): Promise<FoundPostgres> {
  if (given) {
    await reachServers([{ server: 'PostgreSQL', variable: 'DATABASE_URL', reach: () => reachPostgres(given) }]);
    const shellUrl = URL.parse(given)?.password ? undefined : `'${given}'`;
    return { url: given, about: 'the one that DATABASE_URL names', shellUrl, stop: () => Promise.resolve() };
  }
  const own = await embeddedPostgres({ dataDir });
  const shown = relative(process.cwd(), dataDir) || '.';
  const about = `PostgreSQL ${own.major} of our own, data in ${shown}`;
  return { url: own.url, about, shellUrl: `"$(cat ${shown}/url)"`, stop: () => own.stop() };
}
