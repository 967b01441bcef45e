import type { Deliveries } from '../../delivery/deliveries.ts';
import { HoldfastError } from '../../kernel/error.ts';
import { hideSecrets } from '../../kernel/hide-secrets.ts';
import type { LogFields, Logger } from '../../kernel/log.ts';
import { mcpServer } from '../../mcp/mcp-server.ts';
import type { EndedSessions } from '../../operator/ended-sessions.ts';
import type { Operator } from '../../operator/operator.ts';
import { terminalSafe } from '../../retry-notice/terminal-text.ts';
import { operatorServer, type OperatorServer } from '../../server/operator-server.ts';
import { isLocalHost } from '../../server/peer.ts';
import { newSecret, type Token } from '../../server/sessions.ts';
import { EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation, OptionSpec } from '../command.ts';
import { type DeliveringHere, DELIVERY_OPTIONS, deliverHere, demandDeliver, secretOf } from '../deliver-here.ts';
import { driveBulks } from '../drive-bulks.ts';
import type { Io } from '../io.ts';
import { importPackage } from '../import-package.ts';
import { type Listening, listen, type ListenOptions, mounted } from '../listen.ts';
import type { MongoStore } from '../mongo-store.ts';
import { databaseDeliveries } from '../open-deliveries.ts';
import { databaseOperator, databaseSessions } from '../open-operator.ts';
import { serverTokens } from '../server-tokens.ts';
import { stopSignals } from '../stop-signals.ts';

/** Options of whatever serves the console. */
export const SERVER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  port: { value: '<n>', summary: 'where to listen; 0 is any that is free', default: '4747' },
  host: { value: '<address>', summary: 'on which address', default: '127.0.0.1' },
  token: {
    value: '<role:actor=secret>',
    summary: 'lets somebody in as viewer, operator or admin',
    multiple: true,
    default: 'HOLDFAST_TOKENS',
  },
  'base-path': { value: '<path>', summary: 'below which path', default: '/' },
  redact: { value: '<path>', summary: 'hide this place of payloads from all but admins', multiple: true },
  'show-keys': { summary: 'show keys to those from whom something is hidden: they say nothing' },
  'read-only': { summary: 'nobody can change anything' },
  'max-connections': { value: '<n>', summary: 'connections at once', default: '1000' },
  'max-connections-per-peer': { value: '<n>', summary: 'of these, from one address', default: '500' },
  'stall-timeout': {
    value: '<time>',
    summary: 'close whoever reads nothing of a response for so long',
    default: '30s',
  },
  'mcp-writes': { summary: 'agents at mcp may write too, within their role, each after a preview' },
};

const DEFAULT_PORT = 4747;

/** `holdfast serve`: the console and the API. */
export const serve: Command = {
  name: 'serve',
  summary: 'Serve the console and the HTTP API; with --deliver, HTTP deliveries too.',
  options: {
    ...SERVER_OPTIONS,
    local: { summary: 'without tokens: only this machine, and who opens the address that is printed' },
    deliver: { summary: 'also take in messages as QStash does, below /v2, and deliver them; needs HOLDFAST_SECRET' },
    ...DELIVERY_OPTIONS,
  },
  details: [
    'It needs a token, or --local: then the address that is printed has a key of this start, which lets in as admin, and',
    'only this machine is answered. SIGTERM or Ctrl-C answers what was asked and ends; a second one ends at once. It also',
    'carries on bulk operations.',
  ],
  examples: [
    'holdfast serve --local',
    `HOLDFAST_TOKENS='admin:ann=<secret>,viewer:wall=<secret>' holdfast serve --host 0.0.0.0 --base-path /ops`,
    `HOLDFAST_SECRET='<secret>' holdfast serve --deliver --local --allow-private 10.0.0.0/8`,
  ],
  run: async (invocation) => {
    const { io, options } = invocation;
    const tokens = tokensOf(invocation);
    demandWho(invocation, tokens);
    const isDelivering = options.flag('deliver');
    if (!isDelivering) demandDeliver(invocation);
    const mongo = await invocation.mongodb();
    if (mongo) return serveMongodb(invocation, mongo, tokens, isDelivering);
    const place = isDelivering ? { secret: secretOf(io), loopback: false, isQstashDev: false } : undefined;
    const database = await invocation.database();
    const operator = databaseOperator(database, io, invocation.version);
    // Whatever is wrong with the database is told at once, not to the first who looks.
    await operator.handlers();
    const delivering = place && (await deliverHere(invocation, database, { ...place, logger: stderrLogger(io) }));
    const deliveries = delivering?.deliveries ?? databaseDeliveries(database, io);
    const served = { operator, endedSessions: databaseSessions(database) };
    await serveUntilStopped(invocation, served, tokens, { delivering, deliveries });
    return EXIT.ok;
  },
};

/** The same over a MongoDB: no bulk operations are there to be carried on, and none delivers. */
async function serveMongodb(
  invocation: Invocation,
  { operator }: MongoStore,
  tokens: readonly Token[],
  isDelivering: boolean,
): Promise<number> {
  if (isDelivering) throw new HoldfastError('NOT_ON_MONGODB', { of: 'holdfast serve --deliver' });
  await operator.handlers();
  await serveUntilStopped(invocation, { operator, hasBulks: false }, tokens);
  return EXIT.ok;
}

/** The tokens that were given; refused where they are needed and none was. */
export function tokensOf({ options, io }: Invocation): readonly Token[] {
  const tokens = serverTokens(options, io);
  const host = options.text('host') ?? '127.0.0.1';
  if (tokens.length === 0 && !isLocalHost(host.includes(':') ? `[${host}]` : host)) {
    throw usageError(
      `${host} can be reached by others and no token is set; write --token admin:<name>=<secret>, or listen on 127.0.0.1`,
    );
  }
  return tokens;
}

/** Tokens, or that there shall be none: nobody opens a server because a variable was forgotten. */
function demandWho({ options }: Invocation, tokens: readonly Token[]): void {
  const isLocal = options.flag('local');
  if (tokens.length === 0 && !isLocal) {
    throw usageError(
      'no token is set; set HOLDFAST_TOKENS=admin:<name>=<secret>, or write --local for whoever is on this machine and has the key that is printed',
    );
  }
  if (tokens.length > 0 && isLocal)
    throw usageError('--local is for a server without tokens; leave it or the tokens out');
}

/** What is served. */
interface Served {
  readonly operator: Operator;
  /** Default: a logout holds for this process alone. */
  readonly endedSessions?: EndedSessions;
  /** There are bulk operations to be carried on. Default true. */
  readonly hasBulks?: boolean;
}

/** Serves until a signal comes, then answers what was asked and ends. */
export async function serveUntilStopped(
  invocation: Invocation,
  served: Served,
  tokens: readonly Token[],
  { delivering, port, isLocalOnly = tokens.length === 0, deliveries = delivering?.deliveries }: Serving = {},
): Promise<void> {
  try {
    const key = tokens.length === 0 ? newSecret() : undefined;
    const server = mounted(serverOf(invocation, served, key ?? tokens, deliveries), delivering?.api);
    const onListening = delivering?.ownListener;
    await serving(invocation, server, served, { port, key, isLocalOnly, onListening });
  } finally {
    await delivering?.stop();
  }
}

interface Serving {
  /** Is stopped when nothing more can come in. */
  readonly delivering?: DeliveringHere | undefined;
  /** What is shown of deliveries. Default: those that are made here. */
  readonly deliveries?: Deliveries | undefined;
  /** Where none was asked for. */
  readonly port?: number | undefined;
  /** Programs of this machine alone are answered, on each route. Default: where there are no tokens. */
  readonly isLocalOnly?: boolean | undefined;
}

interface ServingHow extends Pick<Serving, 'port'>, Pick<ListenOptions, 'isLocalOnly' | 'onListening'> {
  /** Of this start, where there are no tokens. */
  readonly key: string | undefined;
}

async function serving(
  invocation: Invocation,
  server: Parameters<typeof listen>[0],
  { operator, hasBulks = true }: Served,
  { port = DEFAULT_PORT, key, ...how }: ServingHow,
): Promise<void> {
  const { io, options, output } = invocation;
  const host = options.text('host') ?? '127.0.0.1';
  const bounds = {
    maxConnections: options.count('max-connections'),
    maxConnectionsPerPeer: options.count('max-connections-per-peer'),
    stallMs: options.durationMs('stall-timeout'),
  };
  const listening = await listen(server, { host, port: portOf(invocation, port), bounds, ...how });
  const stop = stopSignals(io, (name) => say(invocation, 'stopping', `${name}: stopping; once more ends at once`));
  const url = urlOf(invocation, listening);
  const open = key === undefined ? url : `${url}?key=${key}`;
  output.record({ event: 'serving', url, ...(key !== undefined && { key }) }, () => output.line(`Serving ${open}`));
  const bulks = hasBulks ? driveBulks(operator, io.effects, stop.signal) : undefined;
  try {
    await stop.heard;
    await Promise.all([listening.close(), bulks]);
  } finally {
    stop.forget();
  }
}

function say({ output }: Invocation, event: string, text: string): void {
  output.record({ event }, () => output.line(text));
}

function portOf({ options }: Invocation, usual: number): number {
  const port = options.count('port', 0) ?? usual;
  if (port > 65_535) throw usageError(`--port is ${port}; write a number from 0 to 65535`);
  return port;
}

function serverOf(
  { options, io, version }: Invocation,
  { operator, endedSessions }: Served,
  who: readonly Token[] | string,
  deliveries: Deliveries | undefined,
): OperatorServer {
  const redact = options.list('redact');
  const agents = mcpServer({
    operator,
    allowWrites: options.flag('mcp-writes'),
    version,
    onError: (error) => stderrLogger(io).error({ err: error }, 'tools for agents: a call failed'),
    loadSdk: (name) => importPackage(name, io.cwd),
  });
  return operatorServer({
    operator,
    deliveries,
    ...(typeof who === 'string' ? { localOnly: { key: who } } : { tokens: who }),
    endedSessions,
    basePath: options.text('base-path'),
    isReadOnly: options.flag('read-only'),
    localActor: io.user,
    logger: stderrLogger(io),
    mcp: (request, { actor, role }, seen) =>
      agents.fetch(request, { name: actor, mayWrite: role !== 'viewer', operator: seen }),
    ...(redact.length > 0 && { redact: { paths: redact, showKeys: options.flag('show-keys') } }),
  });
}

/** What the operator of the server should know goes beside the answers. */
export function stderrLogger({ err }: Pick<Io, 'err'>): Logger {
  const write = (fields: LogFields, message: string): void => {
    const { err: error, ...rest } = fields as LogFields & { readonly err?: unknown };
    // One line whatever it holds: a text with line breaks could pass for further lines of this log.
    const cause = error instanceof Error ? ` ${terminalSafe(hideSecrets(error.message))}` : '';
    err(`${message} ${JSON.stringify(rest)}${cause}\n`);
  };
  return { debug: () => undefined, info: write, warn: write, error: write };
}

function urlOf({ options }: Invocation, { host, port }: Listening): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  const path = (options.text('base-path') ?? '').replace(/\/+$/, '');
  return `http://${name}:${port}${path}/`;
}
