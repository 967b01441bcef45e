import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../kernel/error.ts';
import { CliError } from './cli-error.ts';
import { databaseTarget } from './database-target.ts';
import { describeProblem } from './describe-problem.ts';

const target = databaseTarget('postgres://ann:geheim@db.internal:5433/app', { env: {} });

function say(error: unknown, schema = 'holdfast'): string {
  return describeProblem(error, { target, schema });
}

function failure(code: string, message = 'it broke'): Error {
  return Object.assign(new Error(message), { code });
}

describe('a problem', () => {
  test.each([
    ['ECONNREFUSED', 'the database at db.internal:5433/app as ann cannot be reached; see that it runs'],
    ['28P01', 'refused us (it broke); see the user and the password'],
    ['3D000', 'has no such database (it broke); see the name at the end of the URL'],
    ['42P01', 'the schema "holdfast" has no tables of ours, or old ones; run holdfast migrate'],
    ['42501', 'the user may not do that (it broke); holdfast doctor lists what is missing'],
    ['55P03', 'a lock was not given in time'],
    ['25006', 'takes no writes (a replica, or read-only); name the primary with --url'],
  ])('with code %s says what to do', (code, sentence) => {
    expect(say(failure(code))).toContain(sentence);
  });

  test('is found below what wraps it', () => {
    expect(say(new Error('query failed', { cause: failure('42P01') }), 'other')).toContain(
      'holdfast migrate --schema other',
    );
  });

  test('with a value on the command line is told by the name it has there', () => {
    const wrong = { option: 'lockTimeoutMs', found: '0', write: 'write whole milliseconds from 1' };
    const refused = new HoldfastError('INVALID_OPTIONS', { of: 'migrate()', problems: [wrong] });
    expect(say(refused)).toBe('--lock-timeout is 0; write whole milliseconds from 1');
    const inModule = new HoldfastError('INVALID_OPTIONS', { of: 'start()', problems: [wrong] });
    expect(say(inModule)).toContain('start() cannot work as written: lockTimeoutMs is 0');
  });

  test('with a reason or an actor is told by the name it has on the command line', () => {
    const wrong = { option: 'by.reason', found: 'undefined', write: 'write why' };
    expect(say(new HoldfastError('INVALID_OPTIONS', { of: 'cancel()', problems: [wrong] }))).toBe(
      '--reason is undefined; write why',
    );
  });

  test('of a schema that is missing or old says where it looked and how to migrate', () => {
    const missing = new HoldfastError('SCHEMA_TOO_OLD', { schema: '"other"', found: 0, needed: 2 });
    expect(say(missing, 'other')).toBe(
      'the database at db.internal:5433/app as ann has no schema "other" of ours; run holdfast migrate --schema other, or name the right one with --url and --schema',
    );
    const inModule = describeProblem(missing, { target: undefined, schema: 'holdfast' });
    expect(inModule).toBe('the database has no schema "other" of ours; run holdfast migrate --schema other');
    const old = new HoldfastError('SCHEMA_TOO_OLD', { schema: '"holdfast"', found: 1, needed: 2 });
    expect(say(old)).toBe('the schema "holdfast" is at version 1 and this release needs 2; run holdfast migrate');
  });

  test('of ours or of the command line says what it says', () => {
    expect(say(new HoldfastError('SCHEMA_TOO_NEW', { found: 9, known: 1 }))).toContain('is at version 9');
    expect(say(new CliError('nothing was changed'))).toBe('nothing was changed');
  });

  test('that is not known is told as it is, on one line, and where to see more', () => {
    expect(say(new Error('odd\n  thing'))).toBe('odd thing; set HOLDFAST_DEBUG=1 to see where that comes from');
    expect(say('text')).toContain('text; set HOLDFAST_DEBUG=1');
    expect(say(new TypeError(''))).toContain('TypeError; set');
  });

  test('never holds the password, whoever put it there', () => {
    expect(say(new Error('could not use geheim for postgres://ann:geheim@db.internal'))).not.toContain('geheim');
  });

  test('that nothing came back in time names the database', () => {
    expect(say(new Error('timeout expired'))).toMatch(/^the database at db\.internal.* did not answer in time/);
  });
});
