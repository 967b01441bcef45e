import { existsSync } from 'node:fs';
import { installDebianPackage, onPath } from '../find-server.ts';
import type { Service } from '../service.ts';

/** PgBouncer. Its "URL" is the path of the program; `startPgbouncer` puts one in front of a server. */
export const pgbouncer: Service = {
  howTo: 'install PgBouncer, or set PGBOUNCER_PATH to its program',
  obtain: async (run) => {
    const given = run.env['PGBOUNCER_PATH'];
    if (given !== undefined && given !== '') return given;
    const found = find();
    if (found !== undefined) return found;
    await installDebianPackage(run, 'pgbouncer');
    const installed = find();
    if (installed === undefined) throw new Error('the package pgbouncer was installed but its program is not there');
    return installed;
  },
};

/** Debian keeps it in a folder that is not on everybody's PATH. */
function find(): string | undefined {
  return onPath('pgbouncer') ?? ['/usr/sbin/pgbouncer'].find((file) => existsSync(file));
}
