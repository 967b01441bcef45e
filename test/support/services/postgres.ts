import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import { findServer, onPath } from '../find-server.ts';
import { dropSchema, localPostgres, planPostgres, prepareSchema, probePostgres } from '../postgres-server.ts';
import type { Service } from '../service.ts';
import { embeddedPostgres } from './embedded-postgres.ts';

/** PostgreSQL as it is found: given, listening, in docker, or installed. Each test file owns the schema of its namespace. */
export const postgres: Service = {
  howTo:
    'start a PostgreSQL on port 5432 (docker compose up -d postgres does), or set HOLDFAST_POSTGRES_URL, or HOLDFAST_POSTGRES=embedded',
  obtain: (run) => {
    if (run.env['HOLDFAST_POSTGRES'] === 'embedded') return embeddedPostgres.obtain(run);
    return findServer(run, {
      name: 'postgres',
      variable: 'HOLDFAST_POSTGRES_URL',
      port: 5432,
      localUrls: [localPostgres(5432), 'postgres://postgres:postgres@127.0.0.1:5432/postgres'],
      probe: probePostgres,
      compose: { service: 'postgres', portVariable: 'HOLDFAST_POSTGRES_PORT', url: localPostgres },
      own: {
        findProgram: findInitdb,
        install: 'postgresql',
        plan: (initdb, folder, port) => planPostgres({ bin: dirname(initdb) }, folder, port),
        url: localPostgres,
      },
    });
  },
  prepare: prepareSchema,
  clean: dropSchema,
};

/** Debian keeps the server's programs off the PATH, one folder for each version. */
export function findInitdb(): string | undefined {
  return globSync('/usr/lib/postgresql/*/bin/initdb').toSorted().at(-1) ?? onPath('initdb');
}
