import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ATTENTION_RUNBOOKS } from '../../console/src/runbooks/attention-runbooks.ts';
import { ROOT } from '../../scripts/run-tool.ts';
import { alertRules } from '../observability/dashboard.ts';
import { documentedCommands } from './documented-commands.ts';

const PAGE = readFileSync(join(ROOT, 'docs/runbooks/alerts.md'), 'utf8');
const PARTS = ['**Means.**', '**Look.**', '**Do.**', '**Over when**'];

/** The parts of the page by their alert. */
function runbooksIn(page: string): Map<string, string> {
  const parts = page.split(/^## /m).slice(1);
  return new Map(parts.map((part) => [part.split('\n', 1)[0] ?? '', part]));
}

/** What a runbook lacks for somebody who was woken by it. */
function gapsIn(runbooks: ReadonlyMap<string, string>): string[] {
  return [...runbooks].flatMap(([alert, text]) => {
    const at = PARTS.map((part) => text.indexOf(part));
    const isInOrder = at.every((place, i) => place !== -1 && place > (at[i - 1] ?? -1));
    const problems = isInOrder
      ? []
      : [`${alert} does not say what it means, where to look, what to do and when it is over`];
    const looks = text.slice(text.indexOf('**Look.**'), text.indexOf('**Do.**'));
    if (documentedCommands('', looks).length === 0) problems.push(`${alert} has no command to look with`);
    return problems;
  });
}

describe('the runbooks of alerts', () => {
  test('there is one for each alert and no other, each with what it means, look, do and when it is over [S1.13] [X.18]', () => {
    const runbooks = runbooksIn(PAGE);
    expect([...runbooks.keys()]).toEqual(alertRules().map(({ alert }) => alert));
    expect(gapsIn(runbooks)).toEqual([]);
  });

  test('each thing that needs somebody in the console has one [X.18]', () => {
    const missing = Object.values(ATTENTION_RUNBOOKS).filter((alert) => !runbooksIn(PAGE).has(alert));
    expect(missing).toEqual([]);
  });

  test('are all in the index of docs/reliability.md [S1.13]', () => {
    const index = readFileSync(join(ROOT, 'docs/reliability.md'), 'utf8');
    const missing = alertRules().filter(
      ({ alert }) => !index.includes(`[${alert}](runbooks/alerts.md#${alert.toLowerCase()})`),
    );
    expect(missing).toEqual([]);
  });

  test('one that lacks a part, or a command, is noticed', () => {
    const page =
      '# R\n\n## A\n\n**Means.** x\n\n**Look.** here\n\n**Do.** y\n\n**Over when** z\n\n## B\n\n**Look.** `holdfast overview`\n';
    expect(gapsIn(runbooksIn(page))).toEqual([
      'A has no command to look with',
      'B does not say what it means, where to look, what to do and when it is over',
    ]);
  });
});
