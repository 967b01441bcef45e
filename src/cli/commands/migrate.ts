import { DEFAULT_LOCK_TIMEOUT_MS, migrate as applyMigrations, migrationScript } from '../../postgres/migrate.ts';
import { DATABASE_ROLES, type DatabaseRole, grantsScript } from '../../postgres/grants.ts';
import { EXIT, usageError } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { schemaName } from '../database.ts';
import { writeDuration } from '../duration.ts';

/** `holdfast migrate`: brings the schema up to date, or prints how. */
export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring the database schema up to date.',
  options: {
    print: { summary: 'print the SQL instead of running it; needs no database' },
    grants: {
      value: '<role=name,…>',
      summary: `print what database roles must be granted: ${DATABASE_ROLES.join(', ')}`,
    },
    'lock-timeout': {
      value: '<time>',
      summary: 'how long to wait for a lock',
      default: writeDuration(DEFAULT_LOCK_TIMEOUT_MS),
    },
  },
  details: [
    'All missing steps are applied in one transaction, or none. Two at once wait for each other. There is no way back:',
    'steps only go forward. --grants prints SQL for the owner of the schema; it needs no database either.',
  ],
  examples: [
    'holdfast migrate',
    'holdfast migrate --print > holdfast.sql',
    'holdfast migrate --grants sender=app,worker=app_worker > grants.sql',
  ],
  run: async ({ io, options, output, database }) => {
    const schema = schemaName(options, io);
    const lockTimeoutMs = options.durationMs('lock-timeout');
    if (options.flag('print')) {
      const script = migrationScript({ schema });
      output.answer({ schema, script }, () => io.out(script));
      return EXIT.ok;
    }
    const grants = options.text('grants');
    if (grants !== undefined) {
      const script = grantsScript({ schema, to: rolesOf(grants) });
      output.answer({ schema, script }, () => io.out(script));
      return EXIT.ok;
    }
    const opened = await database();
    const { connection } = await opened.reserved();
    const answerTimeoutMs = opened.target.statementMs;
    const result = await applyMigrations(connection, { schema, lockTimeoutMs, answerTimeoutMs });
    output.answer({ schema, ...result }, () => {
      if (result.applied.length === 0) output.line(`Schema "${schema}" is up to date (version ${result.to}).`);
      else {
        output.line(
          `Schema "${schema}" went from version ${result.from} to ${result.to}: ${result.applied.join(', ')}.`,
        );
      }
    });
    return EXIT.ok;
  },
};

/** `sender=app,worker=app_worker`. */
function rolesOf(text: string): Partial<Record<DatabaseRole, string>> {
  const to: Partial<Record<DatabaseRole, string>> = {};
  for (const part of text.split(',')) {
    const [name = '', role = ''] = part.split('=', 2).map((word) => word.trim());
    const known = DATABASE_ROLES.find((one) => one === name);
    if (known === undefined || role === '')
      throw usageError(
        `--grants takes role=name; the roles are ${DATABASE_ROLES.join(', ')}, for example worker=app_worker`,
      );
    to[known] = role;
  }
  return to;
}
