import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { COMMAND_STATES, FIRST_STATES, TRANSITIONS } from '../../src/commands/command-state.ts';

/** The steps between the states of a command, as the arrows of a drawing are named. */
function stepsOfTheCode(): string[] {
  const first = FIRST_STATES.map((state) => `start to ${state}`);
  const steps = COMMAND_STATES.flatMap((from) => TRANSITIONS[from].map((to) => `${from} to ${to}`));
  const last = COMMAND_STATES.filter((state) => TRANSITIONS[state].length === 0).map((state) => `${state} to end`);
  return [...first, ...steps, ...last];
}

test('the drawing in docs/commands.md has the steps of the code, and its table has every state [S0.7]', () => {
  const drawing = readFileSync(join(ROOT, 'docs/images/command-states.svg'), 'utf8');
  const arrows = [...drawing.matchAll(/<path [^>]*marker-end[^>]*>(?:<title>(.+?)<\/title>)?/g)].map(
    ([, name]) => name,
  );
  expect(new Set(arrows)).toEqual(new Set(stepsOfTheCode()));
  expect(arrows).toHaveLength(stepsOfTheCode().length);
  const page = readFileSync(join(ROOT, 'docs/commands.md'), 'utf8');
  expect(page).toContain('(images/command-states.svg)');
  const told = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, state]) => state);
  expect(told).toEqual([...COMMAND_STATES]);
});
