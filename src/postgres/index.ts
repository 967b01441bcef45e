export { migrate, migrationScript, type MigrateOptions, type MigrateResult } from './migrate.ts';
export { postgres, type PostgresOptions } from './postgres.ts';
export type { SqlConnection, SqlTransaction } from './sql-runner.ts';
