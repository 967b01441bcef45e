import { DEFAULT_LOCK_TIMEOUT_MS, migrate as applyMigrations, migrationScript } from '../../postgres/migrate.ts';
import { EXIT } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { schemaName } from '../database.ts';
import { writeDuration } from '../duration.ts';

/** `holdfast migrate`: brings the schema up to date, or prints how. */
export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring the database schema up to date.',
  options: {
    print: { summary: 'print the SQL instead of running it; needs no database' },
    'lock-timeout': {
      value: '<time>',
      summary: 'how long to wait for a lock',
      default: writeDuration(DEFAULT_LOCK_TIMEOUT_MS),
    },
  },
  details: [
    'All missing steps are applied in one transaction, or none. Two at once wait for each other. There is no way back:',
    'steps only go forward.',
  ],
  examples: ['holdfast migrate', 'holdfast migrate --print > holdfast.sql'],
  run: async ({ io, options, output, database }) => {
    const schema = schemaName(options, io);
    const lockTimeoutMs = options.durationMs('lock-timeout');
    if (options.flag('print')) {
      const script = migrationScript({ schema });
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
