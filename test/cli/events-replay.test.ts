import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { openExpenses } from './expenses.ts';
import { runHere } from './run-here.ts';

const test = needs('postgres');

describe('holdfast events:replay', () => {
  test('replays all that failed, one dead letter, or one event for chosen projectors, under the same idempotency key [S0.10]', async ({
    postgres,
  }) => {
    const { client, schema, file, drain, run, ask } = await openExpenses(postgres);
    const [ann = '', bob = ''] = await file(
      { employee: 'ann', ledger: 'refuses', idempotencyKey: 'exp:ann:1' },
      { employee: 'bob', ledger: 'refuses' },
    );
    await drain();
    expect(await ask('events:replay', '--status', 'failed', '--limit', '100')).toMatchObject({ replayed: 2 });
    await drain();
    expect(await ask('events:replay', '--dlq', '--id', `${ann}:1`)).toMatchObject({ replayed: 1 });
    await drain({ isMended: true });
    expect(await ask('dlq:show', ann)).toMatchObject({ status: 'delivered', idempotencyKey: 'exp:ann:1' });

    const chosen = (projectors: string): string[] => ['events:replay', '--event-id', ann, '--projectors', projectors];
    const refused = { code: 1, out: '', err: expect.stringContaining('may not run twice') };
    expect(await run(...chosen('ledger'))).toMatchObject(refused);
    expect(await run(...chosen('ledger,totals'), '--rerun')).toMatchObject(refused);
    expect(await run(...chosen('ledger,totals'))).toEqual({
      code: 0,
      out: '1 delivery will run again.\nSkipped expenses/ledger: succeeded already and not declared repeatable.\n',
      err: '',
    });

    expect((await drain()).out).toContain('1 handled');
    const { rows } = await client.query<{ rerun: number; key: string }>(
      `select max(rerun) as rerun, max(idempotency_key) as key from ${schema}.delivered where id = $1`,
      [ann],
    );
    expect(rows).toEqual([{ rerun: 1, key: 'exp:ann:1' }]);
    // Bob's was left where it failed for the second time.
    expect(await ask('dlq:list')).toMatchObject({ items: [{ messageId: bob, cycle: 1 }] });
  });

  test.each([
    [[], 'say one of these: --status failed'],
    [['--status', 'failed', '--dlq'], 'say one of these'],
    [['--status', 'delivered'], 'only what failed can be replayed so'],
    [['--dlq'], '--id is missing'],
    [['--event-id', 'x', '--rerun'], '--rerun needs --projectors'],
    [['--status', 'failed', '--projectors', 'a'], 'go with --event-id'],
  ])('called with %j it is refused before anything is opened', async (args, problem) => {
    expect(await runHere(['events:replay', ...args], { env: {} })).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining(problem),
    });
  });
});
