import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { needs } from '../support/needs.ts';
import { openExpenses } from './expenses.ts';
import { startOnTerminal } from './holdfast-process.ts';

const test = needs('postgres');

interface List {
  readonly items: readonly {
    readonly id: string;
    readonly messageId: string;
    readonly key: string;
    readonly error: { readonly message: string };
  }[];
  readonly next: string | null;
}

describe('dead letters on the command line', () => {
  test('are looked at and replayed for one service, and then nothing has failed [S1.8]', async ({ postgres }) => {
    const { file, drain, run } = await openExpenses(postgres);
    expect((await run('dlq:list')).out).toBe('No dead letters. Nothing failed.\n');
    await file({ employee: 'ann', ledger: 'refuses' }, { employee: 'bob', ledger: 'takes' });
    expect((await drain()).out).toContain('failed for good');
    const peek = await run('dlq:peek', '--service', 'expenses');
    expect(peek.out).toMatch(/^handler +expenses\/ledger$/m);
    expect(peek.out).toMatch(/^error +TerminalHandlerError: no account for 12$/m);
    expect(peek.out).toMatch(/^failed +.* ago, attempts: 1, replays: 0$|^failed +just now/m);
    expect((await run('dlq:peek', '--service', 'payroll')).out).toMatch(/^No dead letters fit --service\./);
    const replay = await run('dlq:replay', '--service', 'expenses', '--since', '15m');
    expect(replay).toEqual({ code: 0, out: '1 delivery will run again.\n', err: '' });
    await drain({ isMended: true });
    expect((await run('dlq:list')).out).toBe('No dead letters. Nothing failed.\n');
    expect((await run('dlq:list', '--status', 'replayed')).out).toContain('expenses/ledger');
  });

  test('are replayed one by one by their id, and what cannot be is told [S1.8]', async ({ postgres }) => {
    const { file, drain, run, ask } = await openExpenses(postgres);
    const [messageId = '', fine = ''] = await file(
      { employee: 'ann', ledger: 'refuses' },
      { employee: 'bob', ledger: 'takes' },
    );
    await drain();
    const { items } = (await ask('dlq:list')) as List;
    const id = items[0]?.id ?? '';
    expect(id).toBe(`${messageId}:1`);
    expect(await ask('dlq:replay', '--id', id, '--actor', 'ann', '--reason', 'account made')).toEqual({
      replayed: 1,
      results: [{ id, kind: 'replayed', count: 1 }],
    });
    const shown = await run('dlq:show', id);
    expect(shown.out).toMatch(/ann +replay +ledger +account made/);
    const again = await run('dlq:replay', '--id', id, '--id', fine, '--id', 'nonsense');
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toMatch(new RegExp(`^error: ${id} has not failed`, 'm'));
    expect(again.err).toMatch(new RegExp(`^error: ${fine} has not failed, it is delivered`, 'm'));
    expect(again.err).toMatch(/^error: "nonsense" is not an id/m);
  });

  test('are replayed by filter up to a limit, counted first with --dry-run', async ({ postgres }) => {
    const { file, drain, run, ask } = await openExpenses(postgres);
    const names = ['ann', 'bob', 'cy'];
    await file(...names.map((employee) => ({ employee, ledger: 'refuses' as const })));
    await drain();
    const filter = ['--type', 'expense.filed', '--limit', '2'];
    expect((await run('dlq:replay', ...filter, '--dry-run')).out).toBe(
      'Would replay 2 dead letters (of more; --limit is 2). Nothing was changed.\n',
    );
    expect(((await ask('dlq:list')) as List).items).toHaveLength(3);
    expect(await ask('dlq:replay', ...filter)).toEqual({ replayed: 2, matched: 2, isMore: true, dryRun: false });
    const left = (await ask('dlq:list')) as List;
    expect(left.items.map((one) => one.key)).toEqual(['cy']);
    expect((await run('dlq:replay', '--handler', 'ledger', '--key', 'cy')).out).toContain('1 delivery of the key');
  });

  test('come page by page', async ({ postgres }) => {
    const { file, drain, ask } = await openExpenses(postgres);
    await file(...['ann', 'bob', 'cy'].map((employee) => ({ employee, ledger: 'refuses' as const })));
    await drain();
    const first = (await ask('dlq:list', '--limit', '2')) as List;
    const second = (await ask('dlq:list', '--limit', '2', '--cursor', first.next ?? '')) as List;
    expect(second.next).toBeNull();
    const keys = [...first.items, ...second.items].map((one) => one.key);
    expect(keys.toSorted()).toEqual(['ann', 'bob', 'cy']);
  });

  test('are given up with a reason, and a person is asked before many are changed', async ({ postgres }) => {
    const { env, file, drain, run, ask } = await openExpenses(postgres);
    await file(...['ann', 'bob', 'cy', 'di'].map((employee) => ({ employee, ledger: 'refuses' as const })));
    await drain();
    const { items } = (await ask('dlq:list')) as List;
    const first = items.find((one) => one.key === 'ann')?.id ?? '';
    expect(await run('dlq:discard', '--id', first)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--reason is missing'),
    });
    expect((await run('dlq:discard', '--id', first, '--reason', 'test')).out).toBe('1 delivery given up.\n');
    const bulk = ['dlq:discard', '--type', 'expense.filed', '--limit', '10', '--reason', 'test'];
    const refused = await run(...bulk);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('pass --yes') });

    const replay = startOnTerminal(['dlq:replay', '--limit', '10'], { env });
    await replay.until(/Replay 3 dead letters\? \[y\/N\]/);
    replay.child.stdin?.write('\n');
    expect((await replay.ended).code).toBe(1);
    expect(replay.output()).toContain('nothing was changed');

    const no = startOnTerminal(bulk, { env });
    await no.until(/Discard 3 dead letters.*\[y\/N\]/);
    no.child.stdin?.write('n\n');
    expect((await no.ended).code).toBe(1);
    expect(((await ask('dlq:list')) as List).items).toHaveLength(3);

    const yes = startOnTerminal(bulk, { env });
    await yes.until(/\[y\/N\]/);
    yes.child.stdin?.write('y\n');
    expect((await yes.ended).code).toBe(0);
    expect(yes.output()).toContain('discarded 3 of 3');
    expect(yes.output()).toContain('3 deliveries given up');
    expect(((await ask('dlq:list', '--status', 'discarded')) as List).items).toHaveLength(4);
  });

  test('get another payload and run again, the old one kept', async ({ postgres }) => {
    const { file, drain, run } = await openExpenses(postgres);
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const payload = join(folder, 'mended.json');
    const [id = ''] = await file({ employee: 'ann', ledger: 'refuses' });
    await drain({ handlers: 'ledger' });
    writeFileSync(payload, '{ "employee": "ann", ');
    const edit = ['dlq:edit', '--id', id, '--payload-file', payload, '--reason', 'wrong account'];
    expect((await run(...edit)).err).toMatch(/^error: .*mended\.json is not JSON/);
    expect((await run('dlq:edit', '--id', id, '--payload-file', join(folder, 'none'))).err).toContain('cannot be read');
    writeFileSync(payload, JSON.stringify({ employee: 'ann', amount: 12, ledger: 'takes' }));
    expect((await run(...edit)).out).toBe('The payload is at version 1; 1 delivery will run again.\n');
    await drain({ handlers: 'ledger' });
    const shown = await run('dlq:show', id);
    expect(shown.out).toMatch(/^status +delivered$/m);
    expect(shown.out).toMatch(/^version 0 +.*"refuses"/m);
    const late = await run(...edit);
    expect(late).toMatchObject({ code: 1, err: expect.stringContaining('ledger succeeded with the payload') });
  });
});
