import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { needs } from '../support/needs.ts';
import { runHoldfast } from './holdfast-process.ts';
import { connect, ownSchema } from './own-schema.ts';

const test = needs('postgres');

describe('holdfast migrate', () => {
  test('makes the schema once and then finds nothing to do', async ({ postgres }) => {
    const { schema, env } = ownSchema(postgres);
    const first = await runHoldfast(['migrate'], { env });
    expect(first).toEqual({
      code: 0,
      out: expect.stringContaining(`Schema "${schema}" went from version 0 to `),
      err: '',
    });
    const second = await runHoldfast(['migrate', '--json'], { env });
    expect(JSON.parse(second.out)).toMatchObject({ schema, applied: [] });
  });

  test('two at once both end well, and one of them did the work', async ({ postgres }) => {
    const { env } = ownSchema(postgres);
    const both = await Promise.all([1, 2].map(() => runHoldfast(['migrate', '--json'], { env })));
    expect(both.map((one) => one.code)).toEqual([0, 0]);
    const applied = both.map((one) => (JSON.parse(one.out) as { applied: string[] }).applied.length > 0);
    expect(applied.filter(Boolean)).toHaveLength(1);
  });

  test('prints a script that does the same, without a database', async ({ postgres }) => {
    const { schema, env } = ownSchema(postgres);
    const { out, code } = await runHoldfast(['migrate', '--print', '--schema', schema]);
    expect(code).toBe(0);
    await (await connect(postgres)).query(out);
    expect((await runHoldfast(['migrate'], { env })).out).toContain('is up to date');
  });

  test('gives up when a lock is not given in time, and says what to do', async ({ postgres }) => {
    const { schema, env } = ownSchema(postgres);
    const holder = await connect(postgres);
    await holder.query('begin');
    await holder.query(`select pg_advisory_xact_lock(hashtextextended('holdfast migrate "${schema}"', 0))`);
    const { code, err } = await runHoldfast(['migrate', '--lock-timeout', '50ms'], { env });
    await holder.query('rollback');
    expect(code).toBe(1);
    expect(err).toMatch(/^error: a lock was not given in time.*raise --lock-timeout\n$/);
    expect((await runHoldfast(['migrate'], { env })).code).toBe(0);
  });

  test('refuses a schema name that could be something else', async ({ postgres }) => {
    const { env } = ownSchema(postgres);
    const { code, err } = await runHoldfast(['migrate', '--schema', 'a"; drop'], { env });
    expect(code).toBe(2);
    expect(err).toMatch(/^error: --schema is a string of 8 characters; write lower-case letters/);
  });
});

describe('the database connection', () => {
  test('that is refused is told in one sentence without the password', async () => {
    const { code, out, err } = await runHoldfast(['migrate', '--url', 'postgres://me:geheim@127.0.0.1:1/db']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      'error: the database at 127.0.0.1:1/db as me cannot be reached; see that it runs, or name another with --url\n',
    );
  });

  test('to something that never answers is given up in time [S0.6]', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const url = `postgres://me:geheim@127.0.0.1:${(server.address() as AddressInfo).port}/db`;
    for (const command of ['migrate', 'doctor']) {
      const { code, out, err } = await runHoldfast([command, '--url', url], { env: { PGCONNECT_TIMEOUT: '1' } });
      expect(code).toBe(1);
      expect(out + err).toContain('did not answer in time');
      expect(out + err).not.toContain('geheim');
    }
  });

  test('goes through postgres.js where only that is installed, and asks for a client where none is', async ({
    postgres,
  }) => {
    const { env } = ownSchema(postgres);
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-cli-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const part of ['dist', 'package.json']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    const options = { env, cwd: folder, bin: join(folder, 'dist/cli/main.js') };
    const none = await runHoldfast(['migrate'], options);
    expect(none).toEqual({
      code: 1,
      out: '',
      err: 'error: no PostgreSQL client is installed here; run npm install pg\n',
    });
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(ROOT, 'node_modules/postgres'), join(folder, 'node_modules/postgres'));
    expect((await runHoldfast(['migrate'], options)).out).toContain('went from version 0');
    const { code, out } = await runHoldfast(['doctor', '--stuck-after', '1h'], options);
    expect(out).toContain('through postgres.js');
    expect(out).toContain('LISTEN and NOTIFY work');
    expect(code).toBe(0);
  });
});
