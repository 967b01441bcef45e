import type { Database } from './database.ts';
import type { Io } from './io.ts';
import type { MongoStore } from './mongo-store.ts';
import type { OptionValues } from './option-values.ts';
import type { Output } from './output.ts';

/** An option of a command, as its help shows it. */
export interface OptionSpec {
  readonly summary: string;
  /** What stands after it, e.g. `<id>`. Absent: it is a flag. */
  readonly value?: string;
  /** May be given several times. */
  readonly multiple?: boolean;
  /** Said in the help. */
  readonly default?: string;
}

/** What a command is given. */
export interface Invocation {
  readonly io: Io;
  /** What stands on the line besides options. */
  readonly args: readonly string[];
  readonly options: OptionValues;
  readonly output: Output;
  /** Of this program. */
  readonly version: string;
  /** Every command there is. */
  readonly commands: readonly Command[];
  /** Opens the database at the first call. It is closed after the command, however that ends. */
  readonly database: () => Promise<Database>;
  /** Opens the MongoDB that was named, at the first call; nothing where a PostgreSQL or a server was. Closed like the database. */
  readonly mongodb: () => Promise<MongoStore | undefined>;
}

/** One command of the program. */
export interface Command {
  /** As it is typed. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What may stand after the name besides options, e.g. `<id>` or `[pause|resume <name>]`. */
  readonly args?: { readonly usage: string; readonly min: number; readonly max: number };
  /** Words that may stand first after the name; for completion. */
  readonly verbs?: readonly string[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Further lines of the help. */
  readonly details?: readonly string[];
  readonly examples: readonly string[];
  /** Answers the exit code. */
  run(invocation: Invocation): Promise<number>;
}
