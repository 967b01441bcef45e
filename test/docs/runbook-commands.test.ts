import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { openExpenses } from '../cli/expenses.ts';
import { needs } from '../support/needs.ts';
import { documentedCommands } from './documented-commands.ts';

const PAGE = readFileSync(join(ROOT, 'docs/runbooks/alerts.md'), 'utf8');

/** The commands of a part of each runbook, as they stand, each once. */
function commandsBetween(from: string, to: string, alert = ''): string[][] {
  const parts = PAGE.split(/^## /m).filter((part) => part.startsWith(alert));
  const texts = parts.map((part) => part.slice(part.indexOf(from), part.indexOf(to)));
  const found = texts.flatMap((text) => documentedCommands('', text).map(({ argv }) => argv.join('\0')));
  return [...new Set(found)].map((line) => line.split('\0'));
}

needs('postgres')(
  'every command to look with in the runbooks works and changes nothing; those for dead letters mend them [S1.13] [X.18]',
  async ({ postgres }) => {
    const { file, drain, run, ask, client, schema } = await openExpenses(postgres);
    const [message = ''] = await file({ employee: 'ann', ledger: 'refuses' }, { employee: 'bob', ledger: 'refuses' });
    await drain();
    const { items } = (await ask('groups', '--pending')) as { readonly items: readonly { readonly id: string }[] };
    const names: Record<string, string> = {
      '<message>': message,
      '<group>': items[0]?.id ?? '',
      '<key>': 'no-such-key',
    };
    const typed = (argv: readonly string[]): string[] => argv.map((word) => names[word] ?? word);

    const rows = async (): Promise<unknown> => {
      const changes = `(select count(*) from "${schema}".audit) as audit, (select count(*) from "${schema}".bulk) as bulk`;
      return (
        await client.query(
          `select ${changes}, (select jsonb_agg(to_jsonb(d) order by seq) from "${schema}".delivery d) as open`,
        )
      ).rows;
    };
    const before = await rows();
    const looks = commandsBetween('**Look.**', '**Do.**');
    expect(looks.length).toBeGreaterThan(15);
    for (const argv of looks) {
      const { code, err } = await run(...typed(argv));
      // What doctor finds wrong (no worker lives here) is an answer, and so is that nothing is known under a key.
      const isAnswer = code === 0 || (code === 1 && ['doctor', 'trace'].includes(argv[0] ?? ''));
      expect(isAnswer, `holdfast ${argv.join(' ')}: ${err}`).toBe(true);
    }
    expect(await rows()).toEqual(before);

    const [plan = [], start = [], watch = []] = commandsBetween('**Do.**', 'A replay keeps', 'HoldfastDeadLetters\n');
    expect([plan, start, watch].map((argv) => argv.slice(0, 2).join(' '))).toEqual([
      'bulk plan',
      'bulk start',
      'bulk watch',
    ]);
    const planned = await run(...typed(plan));
    expect(planned.code, planned.err).toBe(0);
    names['<operation>'] = /bulk start (\S+)/.exec(planned.out)?.[1] ?? '';
    expect((await run(...typed(start))).code).toBe(0);
    const watched = run(...typed(watch));
    await expect
      .poll(async () => {
        await drain({ isMended: true });
        return (await run('groups', '--pending')).out;
      })
      .not.toContain('TerminalHandlerError');
    expect(await watched).toMatchObject({ code: 0, err: '' });
    expect((await run('keys')).out).not.toContain('expenses/ledger');
  },
);
