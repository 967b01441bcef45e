import { expect, test } from 'vitest';
import { COMMANDS } from './all-commands.ts';
import { commandHelp, helpPage } from './help.ts';
import { paintFor } from './paint.ts';

const look = { paint: paintFor({ isTty: false, env: {} }), width: 80 };
const tooLong = (page: string): string[] => page.split('\n').filter((line) => line.length > 80);

test('the help fits into 80 columns: long meanings go on in their column [X.4]', () => {
  expect(tooLong(helpPage(COMMANDS, look))).toEqual([]);
});

test.each(COMMANDS.map((command) => [command.name, command] as const))(
  'the help of %s fits into 80 columns, but for examples, which are to be copied [X.4]',
  (_, command) => {
    const page = commandHelp({ ...command, examples: [] }, look);
    expect(tooLong(page)).toEqual([]);
    expect(page.replaceAll(/\s+/g, ' ')).toContain(command.summary);
  },
);
