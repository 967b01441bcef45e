import { DEFAULT_SCHEMA } from '../postgres/schema-name.ts';
import { boundedRunner } from '../postgres/bounded-runner.ts';
import { withinLimit } from '../postgres/driver/time-limit.ts';
import { type SqlRunner, sqlRunner } from '../postgres/sql-runner.ts';
import { systemEffects } from '../system/effects.ts';
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

const GOODBYE_MS = 1_000;

/** The schema that is meant. */
export function schemaName(options: OptionValues, { env }: Pick<Io, 'env'>): string {
  return options.text('schema') ?? (env['HOLDFAST_SCHEMA'] || DEFAULT_SCHEMA);
}

function within<T>(work: Promise<T>, limitMs: number): Promise<T> {
  return withinLimit(systemEffects, work, () => undefined, limitMs);
}

/** Loads a client and gets ready to connect. */
export async function openDatabase(target: DatabaseTarget, schema: string, cwd: string): Promise<Database> {
  const opened = await openDriver(target, cwd);
  const driver: Driver = {
    ...opened,
    listen: (channel, heard) => within(opened.listen(channel, heard), target.statementMs),
  };
  let connection: Promise<ReservedConnection> | undefined;
  // Longer than the client's own time to connect, which says more.
  const reserved = (): Promise<ReservedConnection> => (connection ??= within(driver.reserve(), target.connectMs * 2));
  return {
    target,
    schema,
    driver,
    reserved,
    sql: async () => boundedRunner(sqlRunner((await reserved()).connection), target.statementMs),
    close: async () => {
      await connection?.then((one) => one.release()).catch(() => undefined);
      // A server that has fallen silent says no goodbye; the end of the process is one.
      await within(driver.close(), GOODBYE_MS).catch(() => undefined);
    },
  };
}
