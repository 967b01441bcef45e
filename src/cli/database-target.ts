import { userInfo } from 'node:os';
import { CliError, usageError } from './cli-error.ts';
import type { Io } from './io.ts';
import { isMongoUrl, mongoUrl } from './mongo-url.ts';

/** Which database is meant, and how to speak of it. */
export interface DatabaseTarget {
  readonly kind: 'postgres' | 'mongodb';
  /** Of a MongoDB with their ports, and there may be several. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  /** As it was given, where a URL was: it may hold settings such as `sslmode`. */
  readonly url: string | undefined;
  /** Where it was found: `--url`, or the name of a variable. */
  readonly from: string;
  /** How long a connection may take to be made. */
  readonly connectMs: number;
  /** How long one statement may take before it is given up here. */
  readonly statementMs: number;
}

const FORM = 'postgres://user:password@host:5432/database';
/** Where PGCONNECT_TIMEOUT does not say otherwise. */
const CONNECT_MS = 10_000;
/** Where HOLDFAST_STATEMENT_TIMEOUT does not say otherwise: longer than any of ours, shorter than for ever. */
const STATEMENT_MS = 300_000;
const PG_VARIABLES = ['PGHOST', 'PGPORT', 'PGUSER', 'PGDATABASE'];

/** Finds the database: `--url`, HOLDFAST_DATABASE_URL, DATABASE_URL, or the variables libpq knows. */
export function databaseTarget(url: string | undefined, { env }: Pick<Io, 'env'>): DatabaseTarget {
  const times = {
    connectMs: secondsIn(env['PGCONNECT_TIMEOUT']) ?? CONNECT_MS,
    statementMs: secondsIn(env['HOLDFAST_STATEMENT_TIMEOUT']) ?? STATEMENT_MS,
  };
  if (url !== undefined) return { ...fromUrl(url, '--url'), ...times };
  for (const variable of ['HOLDFAST_DATABASE_URL', 'DATABASE_URL']) {
    const given = env[variable];
    if (given !== undefined && given !== '') return { ...fromUrl(given, variable), ...times };
  }
  const variables = PG_VARIABLES.filter((name) => (env[name] ?? '') !== '');
  if (variables.length === 0) {
    throw new CliError(`no database was given; pass --url ${FORM}, or set DATABASE_URL`);
  }
  const user = env['PGUSER'] ?? userInfo().username;
  return {
    kind: 'postgres',
    host: env['PGHOST'] ?? 'localhost',
    port: Number(env['PGPORT'] ?? 5432),
    user,
    password: env['PGPASSWORD'],
    database: env['PGDATABASE'] ?? user,
    url: undefined,
    from: variables.join(', '),
    ...times,
  };
}

/** Where it is, for people: never the password. */
export function addressOf({ kind, host, port, database, user }: DatabaseTarget): string {
  if (kind === 'mongodb') return `${host}/${database}${user === '' ? '' : ` as ${user}`}`;
  const place = host.startsWith('/') ? host : `${host}:${port}`;
  return `${place}/${database} as ${user}`;
}

/** Shorter ones are words of ordinary sentences. */
const SHORT = 5;

/**
 * The text without the password, wherever it stands in it as a whole; inside a longer word it is part of that word. A short one is
 * taken out only where it stands as a value: in quotes, or behind `=` or `:`.
 */
export function withoutSecrets(text: string, target: DatabaseTarget | undefined): string {
  const hidden = text
    .replaceAll(/(\w+:\/\/[^\s:/@]*):(?!password@host\b)[^\s/]*@/g, '$1:***@')
    .replaceAll(/(password=)[^\s&]+/gi, '$1***');
  const password = target?.password;
  if (password === undefined || password === '') return hidden;
  const before = password.length < SHORT ? `(?<=["'\`=:])` : String.raw`(?<![\p{L}\p{N}_])`;
  const forms = [password, encodeURIComponent(password)].map((one) =>
    one.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`),
  );
  const whole = new RegExp(String.raw`${before}(?:${forms.join('|')})(?![\p{L}\p{N}_])`, 'gu');
  return hidden.replaceAll(whole, '***');
}

function fromUrl(text: string, from: string): Omit<DatabaseTarget, 'connectMs' | 'statementMs'> {
  if (isMongoUrl(text)) return { kind: 'mongodb', port: 0, ...mongoUrl(text, from), url: text, from };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(?:ql)?:$/.test(url.protocol)) {
    // The text is not shown: whatever it is, it may hold the password.
    throw usageError(
      `${from} is not the URL of a PostgreSQL database; write ${FORM}, with %40 for @ and %23 for # in the password, or mongodb://… for a MongoDB`,
    );
  }
  // Where the host is a folder of sockets, all else stands in the query.
  const inQuery = (name: string): string => url.searchParams.get(name) ?? '';
  const user = decoded(url.username) || inQuery('user') || userInfo().username;
  return {
    kind: 'postgres',
    host: inQuery('host') || decoded(url.hostname) || 'localhost',
    port: Number(url.port === '' ? 5432 : url.port),
    user,
    password: decoded(url.password) || inQuery('password') || undefined,
    database: decoded(url.pathname.slice(1)) || user,
    url: text,
    from,
  };
}

function secondsIn(text: string | undefined): number | undefined {
  const seconds = Number(text ?? 0);
  return seconds > 0 ? seconds * 1_000 : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
