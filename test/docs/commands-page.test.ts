import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { COMMAND_STATES, FIRST_STATES, TRANSITIONS } from '../../src/commands/command-state.ts';

/** The states of a command as a Mermaid diagram. */
function stateDiagram(): string {
  const first = FIRST_STATES.map((state) => `[*] --> ${state}`);
  const steps = COMMAND_STATES.flatMap((from) => TRANSITIONS[from].map((to) => `${from} --> ${to}`));
  const last = COMMAND_STATES.filter((state) => TRANSITIONS[state].length === 0).map((state) => `${state} --> [*]`);
  return ['stateDiagram-v2', ...[...first, ...steps, ...last].map((line) => `  ${line}`), ''].join('\n');
}

test('the diagram in docs/commands.md is the one that the code gives, and its table has every state [S0.7]', () => {
  const page = readFileSync(join(ROOT, 'docs/commands.md'), 'utf8');
  expect(/```mermaid\n([^]*?)```/.exec(page)?.[1]).toBe(stateDiagram());
  const told = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, state]) => state);
  expect(told).toEqual([...COMMAND_STATES]);
});
