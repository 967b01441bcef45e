import { env } from 'node:process';
import { join, resolve } from 'node:path';
import type { OwnListener } from '../../delivery/own-listener.ts';
import { embeddedPostgres } from '../../embedded/embedded-postgres.ts';
import { migrate } from '../../postgres/migrate.ts';
import { isLocalHost } from '../../server/peer.ts';
import type { Token } from '../../server/sessions.ts';
import { EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { type Database, openDatabase, schemaName } from '../database.ts';
import { databaseTarget } from '../database-target.ts';
import { DELIVERY_OPTIONS, deliverHere } from '../deliver-here.ts';
import { loadConfig } from '../load-config.ts';
import { databaseOperator, databaseSessions } from '../open-operator.ts';
import type { Output } from '../output.ts';
import { QSTASH_DEV_PORT } from '../qstash-dev.ts';
import { RelayPrinter } from '../relay-printer.ts';
import { SERVER_OPTIONS, serveUntilStopped, stderrLogger, tokensOf } from './serve.ts';

// Keeps nobody out: whoever can read the folder of the data can read this too. It is the same every time, as the data is.
const DEV_SECRET = 'for development alone, on this machine';

/** `holdfast dev`: a database, the console and, where asked, the services of a module, in one process. */
export const dev: Command = {
  name: 'dev',
  summary: 'Start a database of its own, the console, and the handlers of a module: all for development.',
  options: {
    ...SERVER_OPTIONS,
    data: { value: '<folder>', summary: 'where the database keeps its data', default: '.holdfast/dev' },
    config: { value: '<file>', summary: 'also run the handlers of this module; it finds the database in DATABASE_URL' },
    ...DELIVERY_OPTIONS,
    'qstash-dev': {
      summary:
        'be what a QStash client with QSTASH_DEV=true looks for: on port 8080, with the credentials everybody knows',
    },
    verbose: { summary: 'with --config: a line for each message, not for failures alone' },
  },
  details: [
    'PostgreSQL is the one of this machine or of the package embedded-postgres. Its data stays from one time to the next.',
    'It delivers what is published below /v2, to this machine too. It opens nothing by itself: follow the link it prints. SIGTERM or Ctrl-C ends all of it.',
  ],
  examples: ['holdfast dev', 'holdfast dev --config holdfast.config.ts', 'holdfast dev --qstash-dev'],
  run: async (invocation) => {
    const { io, options, output } = invocation;
    const tokens = tokensOf(invocation);
    demandLoopback(invocation);
    const data = options.text('data') ?? '.holdfast/dev';
    const postgres = await embeddedPostgres({ dataDir: resolve(io.cwd, data) });
    try {
      const schema = schemaName(options, io);
      const database = await openDatabase(databaseTarget(postgres.url, io), schema, io.cwd);
      try {
        await migrate((await database.reserved()).connection, { schema });
        tellDatabase(output, postgres.url, join(data, 'url'));
        // The module of the user reads it as it would anywhere; this process has no other database.
        env['DATABASE_URL'] = postgres.url;
        const stop = await startServices(invocation);
        try {
          await serveAll(invocation, database, tokens, {
            address: '127.0.0.1',
            port: Number(new URL(postgres.url).port),
          });
        } finally {
          await stop();
        }
      } finally {
        await database.close();
      }
    } finally {
      await postgres.stop();
    }
    return EXIT.ok;
  },
};

/** Without the password, which is that of a superuser: what is printed ends up in logs, recordings and screens that are shared. */
function tellDatabase(output: Output, url: string, urlFile: string): void {
  const shown = new URL(url);
  shown.password = '';
  const address = shown.href;
  output.record({ event: 'database', url: address, urlFile }, () =>
    output.line(`Database ${address}, with its password in ${urlFile}`),
  );
}

/** Serves and delivers until a signal comes. */
async function serveAll(
  invocation: Invocation,
  database: Database,
  tokens: readonly Token[],
  databaseListener: OwnListener,
): Promise<void> {
  const { io, options } = invocation;
  const isQstashDev = options.flag('qstash-dev');
  const delivering = await deliverHere(invocation, database, {
    secret: io.env['HOLDFAST_SECRET'] || DEV_SECRET,
    loopback: true,
    isQstashDev,
    own: [databaseListener],
    logger: stderrLogger(io),
  });
  const port = isQstashDev ? QSTASH_DEV_PORT : undefined;
  const served = { operator: databaseOperator(database, io), endedSessions: databaseSessions(database) };
  // The token of development proves nothing.
  const isLocalOnly = isQstashDev || tokens.length === 0;
  await serveUntilStopped(invocation, served, tokens, { delivering, port, isLocalOnly });
}

/** Everybody knows these credentials: nobody else may come near. */
function demandLoopback({ options }: Invocation): void {
  const host = options.text('host') ?? '127.0.0.1';
  if (options.flag('qstash-dev') && !isLocalHost(host.includes(':') ? `[${host}]` : host)) {
    throw usageError(
      `--qstash-dev has a token everybody knows, and ${host} can be reached by others; leave --host out`,
    );
  }
}

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
