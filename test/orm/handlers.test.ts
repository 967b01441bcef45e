import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { ORMS } from './support/orms.ts';
import { everywhere, stageOf } from './support/stage.ts';

const test = needs('postgres');

describe.for(Object.keys(ORMS))('handlers over %s', (name) => {
  const stage = stageOf(name);

  test('get its own transaction: rows and completion are one commit, and what has failed is run again [X.14]', async ({
    postgres: server,
  }) => {
    const { orm, run } = await stage(server);
    const failedOnce = await run(async (tx, line, count) => {
      await orm.insert(tx, `${line}row`);
      if (count === 1) throw new Error('failed after its work');
    });
    expect(failedOnce).toEqual(everywhere(['row'], 'done', 2));
    const failed = await run(async (tx, line) => {
      await orm.insert(tx, `${line}row`);
      throw Object.assign(new Error('never'), { code: 'NEVER' });
    });
    expect(failed).toEqual(everywhere([], 'NEVER', 3));
  });

  test('send in it, and what is sent is kept with the effect or not at all [X.14]', async ({ postgres: server }) => {
    const { orm, hf, run, next, sent } = await stage(server);
    const ran = await run(async (tx, line, count) => {
      const { kind } = await hf.send(tx, next, { line });
      expect(kind).toBe('stored');
      if (count === 1) throw new Error('failed after it was sent');
      await orm.insert(tx, `${line}row`);
    });
    expect(ran).toEqual(everywhere(['row'], 'done', 2));
    expect(await sent()).toBe(3);
  });

  test('nest transactions, which are savepoints [X.14]', async ({ postgres: server }) => {
    const { orm, run } = await stage(server);
    const nested = await run(async (tx, line, count) => {
      await orm.insert(tx, `${line}a`);
      await orm.nested(tx, async (inner) => {
        await orm.insert(inner, `${line}b`);
        await orm
          .nested(inner, async (innermost) => {
            await orm.insert(innermost, `${line}lost`);
            throw new Error('rolled back, and caught');
          })
          .then(
            () => expect.unreachable(),
            () => undefined,
          );
        await orm.nested(inner, (innermost) => orm.insert(innermost, `${line}c`).then(() => undefined));
      });
      await orm.insert(tx, `${line}d`);
      if (count === 1) throw new Error('failed after its nested transactions');
    });
    expect(nested).toEqual(everywhere(['a', 'b', 'c', 'd'], 'done', 2));
  });

  test('nest transactions that catch the failure of a statement, and go on [X.14]', async ({ postgres: server }) => {
    const { orm, run } = await stage(server);
    const caught = await run(async (tx, line) => {
      await orm.nested(tx, async (inner) => void (await orm.raw(inner, 'select 1 / 0'))).catch(() => undefined);
      await orm.insert(tx, `${line}row`);
    });
    expect(caught).toEqual(everywhere(['row'], 'done', 1));
  });

  test('are run again by a serialization failure without a failed attempt, and dead by broken data at once [X.14]', async ({
    postgres: server,
  }) => {
    const { orm, run } = await stage(server);
    const raise = (state: string): string => `do $$ begin raise exception 'no' using errcode = '${state}'; end $$`;
    const conflicts = await run(async (tx, line, count) => {
      await orm.insert(tx, `${line}row`);
      if (count < 3) await orm.raw(tx, raise('40001'));
    });
    expect(conflicts.filter(({ of }) => of !== 'once')).toEqual(everywhere(['row'], 'done', 3, 1).slice(0, 2));
    const broken = await run(async (tx) => void (await orm.raw(tx, raise('23505'))));
    expect(broken.filter(({ of }) => of !== 'once').map(({ runs, lines }) => [runs, lines])).toEqual([
      [1, []],
      [1, []],
    ]);
  });
});
