export { postgresCommands, type PostgresCommandsOptions } from './commands/postgres-commands.ts';
export { type FactRecorder, factRecorder, type FactRecorderOptions } from './facts/fact-recorder.ts';
export type { FactLossReason, LostFacts } from './facts/fact-writer.ts';
export { postgresIdempotency, type PostgresIdempotencyOptions } from './idempotency/postgres-idempotency.ts';
export { migrate, migrationScript, type MigrateOptions, type MigrateResult } from './migrate.ts';
export { postgresOperator, type PostgresOperatorOptions } from './operator/postgres-operator.ts';
export { postgres, type PostgresOptions, type PostgresRelayOptions, type PostgresStore } from './postgres.ts';
export type { SqlPool, TransactionOf } from './driver/find-driver.ts';
export type { SqlConnection, SqlTransaction } from './sql-runner.ts';
