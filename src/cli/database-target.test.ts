import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressOf, databaseTarget, withoutSecrets } from './database-target.ts';

describe('the database that is meant', () => {
  test('is --url before HOLDFAST_DATABASE_URL before DATABASE_URL before the PG variables', () => {
    const env = {
      HOLDFAST_DATABASE_URL: 'postgres://b@h2/d2',
      DATABASE_URL: 'postgres://c@h3/d3',
      PGHOST: 'h4',
      PGUSER: 'd',
      PGPORT: '6000',
    };
    expect(databaseTarget('postgresql://a@h1:5433/d1', { env })).toMatchObject({
      host: 'h1',
      port: 5433,
      from: '--url',
    });
    expect(databaseTarget(undefined, { env })).toMatchObject({ host: 'h2', from: 'HOLDFAST_DATABASE_URL' });
    expect(databaseTarget(undefined, { env: { ...env, HOLDFAST_DATABASE_URL: '' } })).toMatchObject({ host: 'h3' });
    const { PGHOST, PGUSER, PGPORT } = env;
    const target = databaseTarget(undefined, { env: { PGHOST, PGUSER, PGPORT } });
    expect(addressOf(target)).toBe('h4:6000/d as d');
  });

  test('that was not named is asked for', () => {
    expect(() => databaseTarget(undefined, { env: {} })).toThrow('no database was given; pass --url postgres://');
  });

  test('may be a socket', () => {
    const target = databaseTarget('postgres:///db?host=/run/postgresql&user=me&password=geheim', { env: {} });
    expect(addressOf(target)).toBe('/run/postgresql/db as me');
    expect(withoutSecrets(`${target.url ?? ''}&ssl=1`, undefined)).toBe(
      'postgres:///db?host=/run/postgresql&user=me&password=***&ssl=1',
    );
  });

  test.each(['mysql://u:geheim@h/d', 'geheim', 'postgres://u:ge#heim@h:x/d'])(
    '%j is refused without being shown',
    (url) => {
      const refuse = (): unknown => databaseTarget(url, { env: {} });
      expect(refuse).toThrow('--url is not the URL of a PostgreSQL database');
      expect(refuse).not.toThrow(/heim/);
    },
  );
});

describe('a MongoDB', () => {
  test('may have several hosts, and is told without its password', () => {
    const url = 'mongodb://me:ge%40heim@a:27017,b:27018/shop?replicaSet=rs0';
    const target = databaseTarget(undefined, { env: { DATABASE_URL: url } });
    expect(target).toMatchObject({ kind: 'mongodb', database: 'shop', password: 'ge@heim', url, from: 'DATABASE_URL' });
    expect(addressOf(target)).toBe('a:27017,b:27018/shop as me');
    expect(withoutSecrets(`failed for ge@heim at ${url}`, target)).toBe(
      'failed for *** at mongodb://me:***@a:27017,b:27018/shop?replicaSet=rs0',
    );
    expect(addressOf(databaseTarget('mongodb+srv://cluster.example.com/shop', { env: {} }))).toBe(
      'cluster.example.com/shop',
    );
  });

  test.each(['mongodb://u:geheim@h', 'mongodb://u:geheim@h/?x=1', 'mongodb://'])(
    '%j is refused without being shown',
    (url) => {
      const refuse = (): unknown => databaseTarget(url, { env: {} });
      expect(refuse).toThrow(/--url (?:names no database|is not the URL of a MongoDB)/);
      expect(refuse).not.toThrow(/heim/);
    },
  );
});

describe('a password', () => {
  test('is taken out of any text, as it is and as it stands in the URL', () => {
    const target = databaseTarget('postgres://u:ge%40heim@h/d', { env: {} });
    expect(target.password).toBe('ge@heim');
    const text = 'failed for ge@heim at postgres://u:ge%40heim@h/d and postgres://x:other@y/z';
    expect(withoutSecrets(text, target)).toBe('failed for *** at postgres://u:***@h/d and postgres://x:***@y/z');
    expect(withoutSecrets('postgres://x:a@b@y/z', undefined)).toBe('postgres://x:***@y/z');
    expect(addressOf(target)).not.toContain('heim');
  });

  test('may hold any character: what hides it must not fail, and show it in its own error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', minLength: 6, maxLength: 40 }), (word) => {
        const password = `x${word}`.replaceAll(/\s/g, '_');
        const target = databaseTarget(`postgres://u:${encodeURIComponent(password)}@h/d`, { env: {} });
        expect(withoutSecrets(`refused "${password}"`, target)).toBe('refused "***"');
      }),
    );
    expect(withoutSecrets('pass --url postgres://user:password@host:5432/database', undefined)).toContain(
      'user:password',
    );
  });

  test('that is a common word is hidden where it is a value, and no other word is torn', () => {
    const target = databaseTarget('postgres://holdfast:pass@h/d', { env: {} });
    const text = 'compass passes "pass", pwd=pass and let it pass at postgres://holdfast:pass@h/d';
    expect(withoutSecrets(text, target)).toBe(
      'compass passes "***", pwd=*** and let it pass at postgres://holdfast:***@h/d',
    );
    const long = databaseTarget('postgres://u:holdfast+1@h/d', { env: {} });
    expect(withoutSecrets('holdfast+1 is not holdfast+12', long)).toBe('*** is not holdfast+12');
  });
});
