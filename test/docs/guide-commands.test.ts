import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { openExpenses } from '../cli/expenses.ts';
import { needs } from '../support/needs.ts';
import { planted } from '../support/planted.ts';
import { documentedCommands } from './documented-commands.ts';

const test = needs('postgres');

/** What a guide has in its blocks, in order. */
function typedBy(guide: string): readonly (readonly string[])[] {
  const page = readFileSync(join(ROOT, 'docs/guides', guide), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n[^]*?^```$/gm)].map(([block]) => block).join('\n\n');
  return documentedCommands(guide, blocks).map(({ argv }) => argv);
}

test('the guide to replays can be followed from the first command to the last [S1.13]', async ({ postgres }) => {
  const { file, drain, run, ask } = await openExpenses(postgres);
  /** One that failed for good. Its other handler has not had it, so its payload may still be edited. */
  const deadLetter = async (employee: string): Promise<string> => {
    const [id = ''] = await file({ employee, ledger: 'refuses' });
    await drain({ handlers: 'ledger' });
    return id;
  };
  const first = await deadLetter('ann');
  await deadLetter('bob');
  const { items } = (await ask('groups', '--pending')) as { readonly items: readonly { readonly id: string }[] };
  const mended = join(planted({ 'mended.json': '{"employee":"emp9","ledger":"takes","amount":12}' }), 'mended.json');
  const names: Record<string, string> = { '<group>': items[0]?.id ?? '', 'mended.json': mended };
  for (const argv of typedBy('replay-dead-letters.md')) {
    // The bulk operation has replayed what was there before it.
    const isLater = argv[0] === 'dlq:edit' || argv[0] === 'dlq:discard';
    names['<id>'] = isLater ? await deadLetter(argv[0] ?? '') : first;
    const line = argv.map((word) => names[word] ?? word);
    const isWatch = line[0] === 'bulk' && line[1] === 'watch';
    const [said] = await Promise.all([run(...line), isWatch ? drain({ isMended: true }) : undefined]);
    expect(said.code, `holdfast ${line.join(' ')}: ${said.out}${said.err}`).toBe(0);
    names['<operation>'] ??= /bulk start (\S+)/.exec(said.out)?.[1] as string;
    if (line[0] === 'dlq:replay') await drain({ isMended: true, handlers: 'ledger' });
  }
  expect(names['<operation>']).toMatch(/-/);
  await drain({ isMended: true });
  expect((await run('dlq:list')).out).toBe('No dead letters. Nothing failed.\n');
});

test('the guide to order shows a key that stands still and lets it go on [S1.13]', async ({ postgres }) => {
  const { file, drain, run } = await openExpenses(postgres);
  const [message = ''] = await file({ employee: 'ann', ledger: 'refuses' }, { employee: 'ann', ledger: 'takes' });
  await drain();
  const names: Record<string, string> = { '<message>': message, '<key>': 'ann', '<name>': 'ledger' };
  for (const argv of typedBy('keep-order-by-key.md')) {
    const line = argv.map((word) => names[word] ?? word);
    const said = await run(...line);
    expect(said.code, `holdfast ${line.join(' ')}: ${said.err}`).toBe(0);
    // It fails again, so that there is something to go past.
    if (line[1] === 'replay') await drain();
  }
  await drain();
  expect((await run('messages', 'status:delivered', 'key:ann')).out).toContain('ledger delivered');
});
