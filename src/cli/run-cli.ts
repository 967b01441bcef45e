import { HoldfastError } from '../kernel/error.ts';
import { COMMANDS } from './all-commands.ts';
import { CliError, EXIT, usageError } from './cli-error.ts';
import type { Command, Invocation } from './command.ts';
import { type Database, openDatabase, schemaName } from './database.ts';
import { type DatabaseTarget, databaseTarget, withoutSecrets } from './database-target.ts';
import { describeProblem, isWrongOption } from './describe-problem.ts';
import { commandHelp, helpPage } from './help.ts';
import type { Io } from './io.ts';
import { type MongoStore, openMongoStore } from './mongo-store.ts';
import { Output } from './output.ts';
import { type CommandLine, parseLine } from './parse-line.ts';
import { withServiceSchema } from './service-schema.ts';
import { paintFor } from './paint.ts';

/** Runs what was typed and answers the exit code: 0 all well, 1 it did not work, 2 it was called wrongly. */
export async function runCli(argv: readonly string[], io: Io, version: string): Promise<number> {
  let line: CommandLine;
  try {
    line = parseLine(argv, COMMANDS);
  } catch (error) {
    return complain(error, io, { target: undefined, schema: '', isJson: argv.includes('--json') });
  }
  const { command, options } = line;
  if (options.flag('version')) {
    io.out(`${version}\n`);
    return EXIT.ok;
  }
  if (command === undefined) {
    // Called with nothing, it was meant to do something.
    const isAsked = options.flag('help');
    (isAsked ? io.out : io.err)(helpPage(COMMANDS, { paint: paintFor(io), width: io.width }));
    return isAsked ? EXIT.ok : EXIT.usage;
  }
  if (options.flag('help')) {
    io.out(commandHelp(command, { paint: paintFor(io), width: io.width }));
    return EXIT.ok;
  }
  return runCommand(command, line, io, version);
}

async function runCommand(command: Command, { args, options }: CommandLine, io: Io, version: string): Promise<number> {
  const schema = schemaName(options, io);
  const isJson = options.flag('json');
  let target: DatabaseTarget | undefined;
  let opened: Promise<Database> | undefined;
  let database: Promise<Database> | undefined;
  let mongo: Promise<MongoStore> | undefined;
  const targetOf = (): DatabaseTarget => (target ??= databaseTarget(options.text('url'), io));
  const isMongodb = (): boolean => targetOf().kind === 'mongodb';
  const invocation: Invocation = {
    io,
    args,
    options,
    output: new Output(io, isJson),
    version,
    commands: COMMANDS,
    database: async () => {
      if (options.has('server') && !options.has('url')) {
        throw usageError(`${command.name} works on a database; pass --url instead of --server`);
      }
      if (isMongodb()) throw new HoldfastError('NOT_ON_MONGODB', { of: `holdfast ${command.name}` });
      opened ??= openDatabase(targetOf(), schema, io.cwd);
      return (database ??= opened.then((one) => withServiceSchema(one, command, options, io)));
    },
    mongodb: async () => {
      const isRemote = options.has('server') && !options.has('url');
      if (isRemote || !isMongodb()) return undefined;
      if (options.has('schema')) throw usageError('a MongoDB has no schemas; leave --schema out');
      return (mongo ??= openMongoStore(targetOf(), io.cwd, version));
    },
  };
  try {
    return await command.run(invocation);
  } catch (error) {
    const used = await database?.catch(() => undefined);
    return complain(error, io, { target, schema: used?.schema ?? schema, isJson });
  } finally {
    await opened?.then((one) => one.close()).catch(() => undefined);
    await mongo?.then((one) => one.close()).catch(() => undefined);
  }
}

interface ComplaintPlace {
  readonly target: DatabaseTarget | undefined;
  readonly schema: string;
  readonly isJson: boolean;
}

/** Says what went wrong, on standard error: standard output holds answers only. */
function complain(error: unknown, io: Io, { target, schema, isJson }: ComplaintPlace): number {
  const message = describeProblem(error, { target, schema });
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  if (isJson) io.err(`${JSON.stringify({ error: { message, ...(typeof code === 'string' && { code }) } })}\n`);
  else io.err(`${paintFor(io).red('error')}: ${message}\n`);
  if ((io.env['HOLDFAST_DEBUG'] ?? '') !== '' && error instanceof Error) {
    io.err(`${withoutSecrets(error.stack ?? '', target)}\n`);
  }
  if (isWrongOption(error)) return EXIT.usage;
  return error instanceof CliError ? error.exitCode : EXIT.failed;
}
