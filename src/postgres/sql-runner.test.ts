import { describe, expect, test } from 'vitest';
import { sqlRunner, type SqlConnection } from './sql-runner.ts';

class Wallet {
  readonly secret = 'do not print';
}

/** As the pending queries of several clients are. */
class Pending extends Promise<string> {}

const WRONG: [string, unknown, string][] = [
  ['undefined', undefined, 'undefined'],
  ['null', null, 'null'],
  ['a string', 'postgres://user:do not print@host/db', 'string'],
  ['an empty object', {}, 'Object'],
  ['an object without a class', Object.create(null), 'object'],
  ['an object of a foreign class', new Wallet(), 'Wallet'],
  ['a function', () => 'do not print', 'function'],
  ['a Promise', Promise.resolve('do not print'), 'Promise'],
  ['a Promise of a class of its own', Pending.resolve('do not print'), 'Promise'],
  ['something with query alone', { query: () => [] }, 'Object'],
  ['a connection of another database', { query: () => [], connect: () => [], release: () => [] }, 'Object'],
  ['a Drizzle of another database', { execute: () => [], transaction: () => [], dialect: {} }, 'Object'],
  ['a Knex of another database', Object.assign(() => [], { raw: () => [], client: { dialect: 'mysql' } }), 'function'],
  ['a TypeORM of another database', { createQueryRunner: () => [], options: { type: 'mysql' } }, 'Object'],
  [
    'a Prisma of another database',
    { $queryRawUnsafe: () => [], $executeRawUnsafe: () => 0, _activeProvider: 'mysql' },
    'Object',
  ],
];

describe('what is not a transaction', () => {
  test.each(WRONG)('%s is refused by its name, without its contents [X.14]', (_, value, found) => {
    const ask = (): unknown => sqlRunner(value as SqlConnection);
    expect(ask).toThrow(expect.objectContaining({ code: 'TRANSACTION_UNKNOWN', details: { found } }));
    expect(ask).toThrow(/pg, postgres\.js, Drizzle, Kysely, Knex, TypeORM, Prisma, MikroORM or PGlite/);
    expect(ask).not.toThrow(/do not print/);
  });
});
