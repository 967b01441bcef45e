import { usageError } from './cli-error.ts';

/** What the URL of a MongoDB says. */
export interface MongoUrl {
  /** One or several, with their ports. */
  readonly host: string;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
}

const FORM = 'mongodb://user:password@host:27017/database?replicaSet=rs0';
/** Not `URL`: several hosts stand in it, with commas between them. */
const PARTS = /^mongodb(?:\+srv)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^@/?]+)(?:\/([^/?]*))?(?:\?.*)?$/s;

/** True for what begins as the URL of a MongoDB. */
export function isMongoUrl(text: string): boolean {
  return /^mongodb(?:\+srv)?:\/\//.test(text);
}

/** Reads the URL of a MongoDB, found at `from`. The text is not shown where it is refused: it may hold the password. */
export function mongoUrl(text: string, from: string): MongoUrl {
  const [, user = '', password, host, database = ''] = PARTS.exec(text) ?? [];
  if (host === undefined) {
    throw usageError(
      `${from} is not the URL of a MongoDB database; write ${FORM}, with %40 for @ and %23 for # in the password`,
    );
  }
  if (database === '') throw usageError(`${from} names no database; write its name behind the host: ${FORM}`);
  return {
    host,
    user: decoded(user),
    password: password === undefined ? undefined : decoded(password),
    database: decoded(database),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
