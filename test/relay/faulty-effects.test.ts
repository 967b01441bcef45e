import type { PoolClient } from 'pg';
import { describe, expect } from 'vitest';
import { constant, event, policy } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from './service.ts';

const test = needs('postgres');
const placed = event<{ n: number }>('order.placed');
const twice = policy({ maxAttempts: 2, schedule: constant(1) });
const DEAD = `select attempts || ' ' || (error ->> 'code') from $.delivery where state = 2`;

async function sendNumbers({ hf, inTransaction }: TestService, count: number): Promise<void> {
  await inTransaction(async (tx) => {
    for (let n = 1; n <= count; n += 1) await hf.send(tx, placed, { n });
  });
}

type Effect = (tx: PoolClient, n: number) => Promise<unknown>;

/** The two ways to have an effect. */
const WAYS: Record<string, (service: TestService, effect: Effect) => void> = {
  'ctx.commit': ({ hf }, effect) => {
    hf.on(placed, 'book', ({ n }, ctx) => ctx.commit((tx) => effect(tx, n)), { policy: twice });
  },
  project: ({ hf }, effect) => {
    hf.project(placed, 'book', ({ n }, tx) => effect(tx, n), { policy: twice });
  },
};

describe.for(Object.keys(WAYS))('an effect of %s', (way) => {
  test('that hides the failure of its statement is a dead letter after its attempts, others go on [X.3]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const insert = `insert into "${service.schema}".effect values ('x', $1)`;
    WAYS[way]?.(service, async (tx, n) => {
      // The transaction is over with it, whatever is done about the error.
      if (n === 1) await tx.query('select 1 / 0').catch(() => undefined);
      else await tx.query(insert, [n]);
    });
    await service.start();
    await sendNumbers(service, 2);
    await expect.poll(() => service.column(DEAD)).toEqual(['2 25P02']);
    await expect.poll(() => service.column('select n from $.effect')).toEqual([2]);
  });

  test('that the database refuses at the commit is a dead letter after its attempts, others go on [X.3]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const { schema } = service;
    await service.column(`create function $.refuse() returns trigger language plpgsql as
      'begin if new.n = 1 then raise exception ''one is not enough''; end if; return null; end'`);
    await service.column(`create constraint trigger checked after insert on $.effect deferrable initially deferred
      for each row execute function $.refuse()`);
    WAYS[way]?.(service, (tx, n) => tx.query(`insert into "${schema}".effect values ('x', $1)`, [n]));
    await service.start();
    await sendNumbers(service, 2);
    await expect.poll(() => service.column(DEAD)).toEqual(['2 P0001']);
    await expect.poll(() => service.column('select n from $.effect')).toEqual([2]);
  });
});

describe('ctx.commit that nobody waits for', () => {
  test('is waited for: the effect is kept with the completion [X.3]', async ({ postgres }) => {
    const service = await testService(postgres);
    service.hf.on(placed, 'hasty', ({ n }, ctx) => {
      void ctx.commit(async (tx) => {
        await tx.query('select pg_sleep(0.1)');
        await tx.query(`insert into "${service.schema}".effect values ($1, $2)`, [ctx.id, n]);
      });
    });
    await service.start();
    await sendNumbers(service, 3);
    await expect.poll(() => service.column('select count(*)::int from $.delivered')).toEqual([3]);
    expect(await service.column('select n from $.effect order by n')).toEqual([1, 2, 3]);
    expect(service.events.map(({ kind }) => kind)).not.toContain('run-refused');
  });

  test('and fails is a failed attempt, and the process lives [X.3]', async ({ postgres }) => {
    const service = await testService(postgres);
    service.hf.on(
      placed,
      'hasty',
      (_, ctx) => {
        void ctx.commit(async (tx) => {
          await tx.query('select 1 / 0');
        });
      },
      { policy: twice },
    );
    await service.start();
    await sendNumbers(service, 1);
    await expect.poll(() => service.column(DEAD)).toEqual(['2 22012']);
  });
});
