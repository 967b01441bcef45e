import { describe, expect, onTestFinished } from 'vitest';
import { postgresCommands } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { moduleRun } from './module-run.ts';
import { type CommandService, commandService } from './runs.ts';

const test = needs('postgres');
const plan = { runId: 'run_1', moduleId: 'plan' };

function effects({ column }: CommandService): Promise<unknown[]> {
  return column('select n from $.effect order by n');
}

describe('ctx.commit', () => {
  test('keeps the effect, done and the answer together, or nothing of it [S0.7]', async ({ postgres }) => {
    const here = await commandService(postgres);
    const run = moduleRun('dlq', 3);
    here.commands.handle(run, (_, ctx) =>
      ctx.commit(async (tx) => {
        await tx.query(`insert into "${here.schema}".effect values ('plan', $1)`, [ctx.attempt]);
        const [state] = await here.column('select state from $.command');
        if (ctx.attempt < 3) throw new Error(`away while ${String(state)}`);
        return { artifacts: 1 };
      }),
    );
    const id = await here.send(run, plan);
    await here.start();
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'done', answer: { artifacts: 1 } });
    expect(await effects(here)).toEqual([3]);
    expect(await here.story(id)).toBe(
      'queued running:1 retry_wait:1!away while running running:2 retry_wait:2!away while running running:3 done:3',
    );
  });

  test('counts also when it is not waited for, when the handler throws after it, and when its failure is hidden', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const run = moduleRun('dlq', 1);
    here.commands.handle(run, async ({ moduleId }, ctx) => {
      const committed = ctx.commit(async (tx) => {
        await tx.query(`insert into "${here.schema}".effect values ('x', 1)`);
        if (moduleId === 'hidden') throw new Error('of the effect');
        return moduleId;
      });
      if (moduleId === 'plan') return 'this is not the answer';
      if (moduleId === 'hidden') {
        await committed.catch(() => undefined);
        return 'nor is this';
      }
      await committed;
      throw new Error('after the commit');
    });
    const ids = [await here.send(run, plan), await here.send(run, { ...plan, moduleId: 'document' })];
    await here.start();
    for (const [at, id] of ids.entries()) {
      expect(await here.commands.wait(id)).toMatchObject({ kind: 'done', answer: ['plan', 'document'][at] });
    }
    const hidden = await here.send(run, { ...plan, moduleId: 'hidden' });
    expect(await here.commands.wait(hidden)).toMatchObject({ kind: 'dlq', error: { message: 'of the effect' } });
    expect(await effects(here)).toEqual([1, 1]);
  });

  test('refuses an answer that JSON cannot hold, and an effect that would end its transaction, permanently and without done', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const run = moduleRun('dlq', 3);
    here.commands.handle(run, ({ moduleId }, ctx) =>
      moduleId === 'plan' ? { n: 1n } : ctx.commit(async (tx) => void (await tx.query('commit'))),
    );
    const bad = await here.send(run, plan);
    const ended = await here.send(run, { ...plan, moduleId: 'document' });
    await here.start();
    expect(await here.commands.wait(bad)).toMatchObject({ kind: 'dlq', error: { code: 'COMMAND_ANSWER_INVALID' } });
    expect(await here.commands.wait(ended)).toMatchObject({ kind: 'dlq' });
    expect(await here.story(ended)).toBe('queued running:1 dlq:1!TRANSACTION_CONTROL');
  });
});

describe('a command whose row somebody holds', () => {
  test('waits without holding its unit or connections of the pool, and runs once it is let go [S0.7] [S0.6]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const run = moduleRun('dlq', 1);
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    here.commands.handle(run, async ({ moduleId }) => {
      begun.resolve();
      if (moduleId === 'plan') await goOn.promise;
    });
    await here.send(run, plan);
    const id = await here.send(run, { ...plan, moduleId: 'document' });
    await here.start();
    await begun.promise;
    const psql = await here.pool.connect();
    onTestFinished(() => psql.release(true));
    await psql.query(`begin; select from "${here.schema}".delivery where id = '${id}' for update`);
    goOn.resolve();
    const refused = (): number => here.events.filter(({ kind }) => kind === 'run-refused').length;
    await expect.poll(refused).toBeGreaterThan(1);
    // This one and psql.
    expect(here.pool.totalCount).toBeLessThanOrEqual(2);
    await here.inTransaction(async (tx) => {
      await tx.query('set local lock_timeout = 5000');
      await tx.query(`select from "${here.schema}".lease for update`);
    });
    await psql.query('rollback');
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'done' });
    expect(await here.story(id)).toBe('queued running:1 done:1');
  });
});

describe('a process that was taken over', () => {
  test('can write neither running nor done any more [S0.7] [X.3]', async ({ postgres }) => {
    const here = await commandService(postgres);
    const store = postgresCommands({ pool: here.pool, schema: here.schema });
    const run = moduleRun();
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    here.commands.handle(run, async (_, ctx) => {
      begun.resolve();
      await goOn.promise;
      return ctx.commit(async (tx) => {
        await tx.query(`insert into "${here.schema}".effect values ('late', 1)`);
        return 'the first';
      });
    });
    const id = await here.send(run, plan);
    const relay = await here.start();
    await begun.promise;
    // As whoever takes over does it: another owner, another epoch.
    const other = '00000000-0000-7000-8000-000000000001';
    await here.column(`insert into $.worker (id, name, service, lanes, expires_at)
      values ('${other}', 'other', 'orders', '{}', now() + interval '1 hour') returning 1`);
    const [lease] = await here.pool
      .query<{ unit: number; epoch: string }>(
        `update "${here.schema}".lease set owner = $1, epoch = epoch + 1
        where unit = (select unit from "${here.schema}".delivery where id = $2) returning unit, epoch`,
        [other, id],
      )
      .then(({ rows }) => rows);
    const [row] = await here.pool
      .query<{ seq: string }>(`select seq from "${here.schema}".delivery where id = $1`, [id])
      .then(({ rows }) => rows);
    const unit = lease?.unit ?? 0;
    const epoch = Number(lease?.epoch);
    const late = { seq: Number(row?.seq), state: 'ready', version: 0, cycle: 0, attempts: 0 } as const;
    const stale = { ...late, workerId: relay.workerId, token: { unit, epoch: epoch - 1 } };
    expect(await store.start('orders', id, stale)).toBe('taken');
    expect(await here.story(id)).toBe('queued running:1');
    const current = { ...late, workerId: other, token: { unit, epoch } };
    expect(await store.start('orders', id, { ...current, version: 1 })).toBe('taken');
    expect(await store.start('orders', id, { ...current, attempts: 1 })).toBe('taken');
    expect(await store.start('billing', id, current)).toBe('unknown');
    expect(await store.start('orders', id, current)).toMatchObject({ target: 'run_1' });
    goOn.resolve();
    await expect.poll(() => here.events.some(({ kind }) => kind === 'run-refused')).toBe(true);
    expect(await effects(here)).toEqual([]);
    expect(await here.story(id)).toBe('queued running:1 retry_wait:1!PROCESS_LOST running:1');
  });

  test('or stopped in the middle leaves a command that is run again without an attempt counted [S0.7]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const run = moduleRun('dlq', 1);
    const begun = Promise.withResolvers<void>();
    let isFirst = true;
    here.commands.handle(run, async (_, ctx) => {
      if (!isFirst) return ctx.attempt;
      isFirst = false;
      begun.resolve();
      return new Promise(() => undefined);
    });
    const id = await here.send(run, plan);
    const first = await here.start();
    await begun.promise;
    await first.stop({ drainMs: 1 });
    expect(await here.commands.get(id)).toMatchObject({ state: 'running' });
    await here.start();
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'done', answer: 1, command: { attempts: 1 } });
    expect(await here.story(id)).toBe('queued running:1 retry_wait:1!PROCESS_LOST running:1 done:1');
  });
});
