import { DEFAULT_SCHEMA } from '../postgres/schema-name.ts';
import { type SqlRunner, sqlRunner } from '../postgres/sql-runner.ts';
import type { DatabaseTarget } from './database-target.ts';
import { type Driver, openDriver, type ReservedConnection } from './driver.ts';
import type { Io } from './io.ts';
import type { OptionValues } from './option-values.ts';

/** The database a command works on. */
export interface Database {
  readonly target: DatabaseTarget;
  readonly schema: string;
  readonly driver: Driver;
  /** One connection of its own, made at the first call. */
  reserved(): Promise<ReservedConnection>;
  /** Runs statements on that connection. */
  sql(): Promise<SqlRunner>;
  close(): Promise<void>;
}

/** The schema that is meant. */
export function schemaName(options: OptionValues, { env }: Pick<Io, 'env'>): string {
  return options.text('schema') ?? (env['HOLDFAST_SCHEMA'] || DEFAULT_SCHEMA);
}

/** Loads a client and gets ready to connect. */
export async function openDatabase(target: DatabaseTarget, schema: string, cwd: string): Promise<Database> {
  const driver = await openDriver(target, cwd);
  let connection: Promise<ReservedConnection> | undefined;
  const reserved = (): Promise<ReservedConnection> => (connection ??= driver.reserve());
  return {
    target,
    schema,
    driver,
    reserved,
    sql: async () => sqlRunner((await reserved()).connection),
    close: async () => {
      await connection?.then((one) => one.release()).catch(() => undefined);
      await driver.close();
    },
  };
}
