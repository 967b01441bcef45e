import type { OptionProblem } from '../kernel/check-options.ts';
import { type HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { DEFAULT_SCHEMA } from '../postgres/schema-name.ts';
import { terminalSafe } from '../retry-notice/terminal-text.ts';
import { CliError } from './cli-error.ts';
import { addressOf, type DatabaseTarget, withoutSecrets } from './database-target.ts';

/** Whose database it was, and where our tables should be, when something went wrong. */
export interface ProblemPlace {
  readonly target: DatabaseTarget | undefined;
  readonly schema: string;
}

/** What went wrong in one sentence, and what to do next. Never a stack trace, a password or what a terminal acts upon. */
export function describeProblem(error: unknown, place: ProblemPlace): string {
  return terminalSafe(withoutSecrets(sentenceOf(error, place), place.target).replaceAll(/\s*\n\s*/g, ' '));
}

function sentenceOf(error: unknown, { target, schema }: ProblemPlace): string {
  if (error instanceof CliError) return error.message;
  // Its cause may have the code of a database that is away.
  if (isHoldfastError(error, 'REMOTE_AWAY')) return error.message;
  // The SQLSTATE of the cause says more than "could not connect".
  const code = codeOf(error);
  const at = target === undefined ? 'the database' : `the database at ${addressOf(target)}`;
  const known = code === undefined ? undefined : KNOWN[code]?.(at, schema, messageOf(error));
  if (known !== undefined) return known;
  const ofMongodb = mongoSentence(error, at);
  if (ofMongodb !== undefined) return ofMongodb;
  if (isWrongOption(error)) return error.details.problems.map(describeOption).join(' · ');
  if (isHoldfastError(error, 'SCHEMA_TOO_OLD')) return describeOldSchema(error.details, target);
  if (isHoldfastError(error, 'DATABASE_TIMEOUT')) {
    return `${at} did not answer within ${error.details.timeoutMs / 1_000} s; see that it runs and can be reached from here`;
  }
  if (isHoldfastError(error)) return error.message;
  if (/timeout|timed out/i.test(messageOf(error)) && target !== undefined) {
    return `${at} did not answer in time (${messageOf(error)}); see that it runs and can be reached from here`;
  }
  return `${messageOf(error)}; set HOLDFAST_DEBUG=1 to see where that comes from`;
}

/** True where a function refused what was written on the command line. What `start` refuses stands in the user's module. */
export function isWrongOption(error: unknown): error is HoldfastError<'INVALID_OPTIONS'> {
  return isHoldfastError(error, 'INVALID_OPTIONS') && error.details.of !== 'start()';
}

/** `lockTimeoutMs` is what the functions call `--lock-timeout`, and `by.reason` what they call `--reason`. */
function describeOption({ option, found, write }: OptionProblem): string {
  const name = option.replace(/^by\.|Ms$/g, '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${name} is ${found}; ${write}`;
}

function describeOldSchema(
  { schema: quoted, found, needed }: HoldfastError<'SCHEMA_TOO_OLD'>['details'],
  target: DatabaseTarget | undefined,
): string {
  const next = `run holdfast migrate${optionFor(quoted.slice(1, -1))}`;
  if (found > 0) return `the schema ${quoted} is at version ${found} and this release needs ${needed}; ${next}`;
  // Without one the database was named in the user's module.
  if (target === undefined) return `the database has no schema ${quoted} of ours; ${next}`;
  return `the database at ${addressOf(target)} has no schema ${quoted} of ours; ${next}, or name the right one with --url and --schema`;
}

function optionFor(schema: string): string {
  return schema === DEFAULT_SCHEMA ? '' : ` --schema ${schema}`;
}

/** What a MongoDB said, or that it said nothing. */
function mongoSentence(error: unknown, at: string): string | undefined {
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown };
  if (name === 'MongoServerSelectionError') return away(at, '', '');
  if (name !== 'MongoServerError') return undefined;
  if (code === MONGO_NOT_KNOWN) return refused(at, '', messageOf(error));
  if (code === MONGO_NOT_ALLOWED) return `the user may not do that (${messageOf(error)}); it needs the role readWrite`;
  return undefined;
}

const MONGO_NOT_KNOWN = 18;
const MONGO_NOT_ALLOWED = 13;

type Advice = (at: string, schema: string, message: string) => string;

const migrate: Advice = (_at, schema) =>
  `the schema "${schema}" has no tables of ours, or old ones; run holdfast migrate${optionFor(schema)}`;
const away: Advice = (at) => `${at} cannot be reached; see that it runs, or name another with --url`;
const refused: Advice = (at, _schema, message) => `${at} refused us (${message}); see the user and the password`;
const busy: Advice = () =>
  'a lock was not given in time, somebody holds it; look for long transactions with holdfast doctor, then try again or raise --lock-timeout';

/** What to say for codes of the system and of PostgreSQL. */
const KNOWN: Readonly<Record<string, Advice>> = {
  ECONNREFUSED: away,
  ENOTFOUND: away,
  EAI_AGAIN: away,
  EHOSTUNREACH: away,
  ENETUNREACH: away,
  ETIMEDOUT: away,
  ENOENT: (at, schema, message) =>
    message.includes('connect') ? away(at, schema, message) : `${message}; see the path`,
  ECONNRESET: (at) => `${at} broke the connection off; try again, and look into its log if that stays so`,
  CONNECT_TIMEOUT: away,
  '28P01': refused,
  '28000': refused,
  '3D000': (at, _schema, message) => `${at} has no such database (${message}); see the name at the end of the URL`,
  '3F000': migrate,
  '42P01': migrate,
  '42703': migrate,
  '42883': migrate,
  '42501': (_at, _schema, message) => `the user may not do that (${message}); holdfast doctor lists what is missing`,
  '53300': (at) => `${at} has no connection left; end some, or raise max_connections`,
  '55P03': busy,
  '57014': (at) => `${at} broke the statement off (statement_timeout); try again with less at once`,
  '57P01': (at) => `${at} is shutting down; try again when it is back`,
  '57P03': (at) => `${at} is starting; try again in a moment`,
  '25006': (at) => `${at} takes no writes (a replica, or read-only); name the primary with --url`,
};

function codeOf(error: unknown): string | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth += 1) {
    const { code } = one as { readonly code?: unknown };
    if (typeof code === 'string' && KNOWN[code] !== undefined) return code;
  }
  return undefined;
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' && error instanceof Error ? error.name : text;
}
