import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { late, onPg, onPostgresJs } from './one-connection.ts';

const test = needs('postgres');

describe('a nested transaction that an effect leaves open undoes all of it: TRANSACTION_UNFINISHED', () => {
  const UNFINISHED = { code: 'TRANSACTION_UNFINISHED', details: { unfinished: 'a nested transaction' } };

  test('with pg [X.3]', async ({ postgres }) => {
    const { run, lines } = await onPg(postgres);
    const work = run(async (tx) => {
      await tx.query('begin');
      await tx.query(`insert into effect values ('inner')`);
    });
    await expect(work).rejects.toMatchObject(UNFINISHED);
    expect(await lines()).toEqual([]);
  });

  test('with postgres.js, as a text or as a function [X.3]', async ({ postgres }) => {
    const { run, lines } = await onPostgresJs(postgres);
    const text = run(async (tx) => {
      await tx.unsafe('begin');
      await tx`insert into effect values ('inner')`;
    });
    await expect(text).rejects.toMatchObject(UNFINISHED);
    let inner: Promise<unknown> | undefined;
    const called = run(async (tx) => {
      await new Promise<void>((resolve) => {
        inner = late(() =>
          tx.savepoint(async (nested) => {
            await nested`insert into effect values ('inner')`;
            resolve();
            await new Promise<never>(() => undefined);
          }),
        );
      });
    });
    await expect(called).rejects.toMatchObject(UNFINISHED);
    expect(await inner).toBe('TRANSACTION_NOT_OPEN');
    expect(await lines()).toEqual([]);
  });
});

describe('an effect that fails gives back what its session has locked, for the next that has its connection', () => {
  const LOCK = 'select pg_advisory_lock(4711)';
  const HELD = `select count(*)::int as held from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`;

  test('with pg [X.3]', async ({ postgres }) => {
    const { run } = await onPg(postgres);
    for (const then of ['select 1 / 0', 'commit', 'begin']) {
      const failing = run(async (tx) => {
        await tx.query(LOCK);
        await tx.query(then);
        await Promise.reject(new Error('after it'));
      });
      await expect(failing).rejects.toBeInstanceOf(Error);
      expect(await run(async (tx) => expect((await tx.query(HELD)).rows).toEqual([{ held: 0 }]))).toBe('kept');
    }
  });

  test('with postgres.js [X.3]', async ({ postgres }) => {
    const { run } = await onPostgresJs(postgres);
    for (const then of ['select 1 / 0', 'commit', 'begin']) {
      const failing = run(async (tx) => {
        await tx.unsafe(LOCK);
        await tx.unsafe(then);
        // Left open, it fails without an error of its own.
        if (then !== 'begin') await Promise.reject(new Error('after it'));
      });
      await expect(failing).rejects.toBeInstanceOf(Error);
      expect(await run(async (tx) => expect([...(await tx.unsafe(HELD))]).toEqual([{ held: 0 }]))).toBe('kept');
    }
  });
});
