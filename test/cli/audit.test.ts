import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { openExpenses } from './expenses.ts';
import { startOnTerminal } from './holdfast-process.ts';
import { runHere } from './run-here.ts';

const test = needs('postgres');
const ESCAPE = '\u001B';

interface List {
  readonly items: readonly { readonly verb: string; readonly actor: string }[];
  readonly next: string | null;
}

describe('holdfast audit', () => {
  test('lists who did what, when and why, the newest first, as a table and as JSON', async ({ postgres }) => {
    const { file, run, ask } = await openExpenses(postgres);
    expect((await run('audit')).out).toBe(
      'Nothing was changed by hand. A replay, discard, edit, cancel, pause or retire will stand here.\n',
    );
    const [id = ''] = await file({ employee: 'ann', ledger: 'takes' });
    await run('pause', '--actor', 'bob', '--reason', 'payday');
    await run('dlq:discard', '--id', id, '--open', '--reason', 'test data', '--actor', 'ann');
    const { code, out } = await run('audit');
    expect(code).toBe(0);
    const time = String.raw`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
    expect(out).toMatch(/^WHEN \(UTC\) +WHO +DID +HANDLER +MESSAGE +WHY$/m);
    expect(out).toMatch(new RegExp(`${time} +ann +discard +– +${id} +test data$`, 'm'));
    expect(out).toMatch(new RegExp(`${time} +bob +pause-all +– +– +payday$`, 'm'));
    expect(await ask('audit')).toEqual({
      items: [
        {
          id: expect.any(Number),
          at: expect.stringMatching(/^\d{4}-.*Z$/),
          actor: 'ann',
          verb: 'discard',
          reason: 'test data',
          messageId: id,
          service: null,
          handler: null,
          details: { attempts: 0, cycle: 0 },
        },
        expect.objectContaining({ actor: 'bob', verb: 'pause-all', messageId: null }),
      ],
      next: null,
    });
  });

  test('can be narrowed, comes page by page, and says so where nothing fits', async ({ postgres }) => {
    const { file, run, ask } = await openExpenses(postgres);
    const [id = ''] = await file({ employee: 'ann', ledger: 'takes' });
    for (const actor of ['ann', 'bob']) {
      await run('pause', '--actor', actor);
      await run('resume', '--actor', actor);
    }
    await run('dlq:discard', '--id', id, '--open', '--reason', 'test data', '--actor', 'cy');
    const list = async (...args: readonly string[]): Promise<string[]> =>
      ((await ask('audit', ...args)) as List).items.map(({ actor, verb }) => `${actor} ${verb}`);
    expect(await list('--by', 'ann')).toEqual(['ann resume-all', 'ann pause-all']);
    expect(await list('--verb', 'pause-all')).toEqual(['bob pause-all', 'ann pause-all']);
    expect(await list('--message', `${id}:0`)).toEqual(['cy discard']);
    expect(await list('--since', '1h', '--by', 'cy')).toEqual(['cy discard']);
    expect(await list('--since', '99999d')).toHaveLength(5);
    expect(await list('--since', '2999-01-01')).toEqual([]);
    expect(await list('--handler', 'ledger')).toEqual([]);
    const first = (await ask('audit', '--limit', '3')) as List;
    expect(await list('--limit', '3', '--cursor', first.next ?? '')).toEqual(['ann resume-all', 'ann pause-all']);
    expect((await run('audit', '--limit', '3')).out).toContain(
      `\nMore: add --cursor ${first.next}, or a larger --limit.`,
    );
    expect((await run('audit', '--by', 'di', '--since', '5m')).out).toBe(
      'Nothing in the audit fits --since, --by. holdfast audit shows all of it.\n',
    );
  });

  test('refuses what cannot be meant, by the names of the command line', async () => {
    const refused = async (...args: readonly string[]): Promise<string> => {
      const { code, out, err } = await runHere(['audit', '--url', 'postgres://me@127.0.0.1:1/db', ...args], {
        env: {},
      });
      expect([code, out]).toEqual([2, '']);
      return err;
    };
    expect(await refused('--message', 'x')).toMatch(/^error: --message is "x"; an id is 36 characters/);
    expect(await refused('--verb', 'kancel')).toMatch(/^error: --verb is "kancel"; write replay, /);
    expect(await refused('--since', 'yesterday')).toContain('--since is "yesterday"; write a time such as 15m');
    expect(await refused('--limit', '0')).toContain('--limit is "0"; write a whole number from 1');
    expect(await refused('--limit', '1001')).toContain('--limit is 1001; write a whole number from 1 to 1000');
    expect(await refused('--cursor', 'abc')).toContain('--cursor is');
    expect(await refused('--actor', 'ann')).toContain('write --by ann to see what was done');
    expect(await refused('ann')).toContain('audit cannot "ann"; write verify');
  });

  test('on a narrow terminal keeps ids and reasons whole, and lets no control character through', async ({
    postgres,
  }) => {
    const { env, file, run } = await openExpenses(postgres);
    const [id = ''] = await file({ employee: 'ann', ledger: 'takes' });
    const reason = `${ESCAPE}[2J${'imported twice by the nightly job, '.repeat(3)}see 4711`;
    await run('dlq:discard', '--id', id, '--open', '--reason', reason, '--actor', 'ann');
    const narrow = startOnTerminal(['audit'], { env: { ...env, NO_COLOR: '1' } }, 80);
    expect((await narrow.ended).code).toBe(0);
    expect(narrow.output()).toMatch(/^\d{4}-\S+ \S+ {2}ann {2}discard\r?$/m);
    expect(narrow.output()).toMatch(new RegExp(`^ +${id} .*see 4711\r?$`, 'm'));
    expect(narrow.output()).not.toContain(ESCAPE);
  });
});
