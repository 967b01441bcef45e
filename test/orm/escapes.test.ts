import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import type { SqlTransaction } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { ORMS } from './support/orms.ts';
import { everywhere, refusedEverywhere, stageOf } from './support/stage.ts';

const test = needs('postgres');

const REFUSED = 'TRANSACTION_CONTROL';

/** Texts that would end the transaction, or leave it in other hands. */
const TEXTS = [
  'commit',
  '  COMMIT;',
  '/* a /* nested */ comment */ commit',
  '-- a comment\n end',
  'commit and chain',
  'rollback',
  'rollback and chain',
  'abort',
  'begin isolation level serializable',
  `prepare transaction 'orm'`,
  'select 1; commit; begin',
  `select ';'; commit`,
];

describe.for(Object.keys(ORMS))('handlers over %s', (name) => {
  const stage = stageOf(name);

  test('are refused what would end it before it runs, and nothing is kept [X.14]', async ({ postgres: server }) => {
    const { orm, run } = await stage(server);
    const tried = async (text: string): Promise<unknown> => {
      const ran = await run(async (tx, line) => {
        await orm.insert(tx, `${line}row`);
        await orm.raw(tx, text);
      });
      return [text, ran];
    };
    expect(await Promise.all(TEXTS.map(tried))).toEqual(TEXTS.map((text) => [text, refusedEverywhere(REFUSED)]));
  });

  test('cannot end it by a method either, nor is it ended by one that is caught [X.14]', async ({
    postgres: server,
  }) => {
    const { orm, run } = await stage(server);
    for (const [way, end] of Object.entries(orm.ends)) {
      const failing = await run(async (tx, line) => {
        await orm.insert(tx, `${line}row`);
        await end(tx);
        throw Object.assign(new Error('never'), { code: 'NEVER' });
      });
      for (const { of, lines, outcome } of failing)
        expect([way, of, lines, outcome]).not.toEqual([way, of, lines, 'done']);
      for (const { of, lines } of failing) expect([way, of, lines]).toEqual([way, of, []]);
    }
  });

  test('reach no connection but its own [X.14]', async ({ postgres: server }) => {
    const { orm, run } = await stage(server);
    for (const [way, reach] of Object.entries(orm.reaches)) {
      const ran = await run(async (tx, line) => {
        await orm.insert(tx, `${line}row`);
        await reach(tx, `${line}reached`);
        throw Object.assign(new Error('never'), { code: 'NEVER' });
      });
      for (const { of, lines } of ran) expect([way, of, lines]).toEqual([way, of, []]);
    }
  });

  test('that do things at once, of which one fails, leave nothing behind, and nothing later [X.14]', async ({
    postgres: server,
  }) => {
    const { orm, run } = await stage(server);
    const late: Promise<unknown>[] = [];
    const ran = await run(async (tx, line) => {
      const items = ['1', '2', '3'].map(async (item) => {
        if (item === '1') throw Object.assign(new Error('item 1'), { code: 'ITEM' });
        await turn();
        await orm.insert(tx, `${line}soon${item}`);
        await turn();
        await orm.nested(tx, async (inner) => void (await orm.insert(inner, `${line}late${item}`)));
      });
      late.push(...items);
      await Promise.all(items);
    });
    await Promise.allSettled(late);
    expect(ran).toEqual(everywhere([], 'ITEM', 3));
  });

  test('cannot use it when it is over [X.14]', async ({ postgres: server }) => {
    const { orm, run } = await stage(server);
    const over: [SqlTransaction, string][] = [];
    const ran = await run(async (tx, line) => {
      await orm.insert(tx, `${line}row`);
      over.push([tx, line]);
    });
    expect(over).toHaveLength(3);
    // Most say so in words of their own: that their transaction is over.
    const isRefused = async (late: () => PromiseLike<unknown>): Promise<boolean> =>
      Promise.resolve(late()).then(
        () => false,
        () => true,
      );
    for (const [tx, line] of over) {
      expect(await isRefused(() => orm.insert(tx, `${line}late`))).toBe(true);
      expect(await isRefused(() => orm.raw(tx, 'rollback'))).toBe(true);
      expect(
        await isRefused(() => orm.nested(tx, async (inner) => void (await orm.insert(inner, `${line}late`)))),
      ).toBe(true);
    }
    expect(ran).toEqual(everywhere(['row'], 'done', 1));
    const again = await run(async (tx, line) => void (await orm.insert(tx, `${line}row`)));
    expect(again).toEqual(everywhere(['row'], 'done', 1));
  });
});
