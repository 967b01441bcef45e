import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';
import { type PageStep, stepsOf } from './page-steps.ts';
import { Reader } from './reader.ts';

const BUILD = '```sh\nnpm run build   # in the clone\n```\n';
const quickStart = stepsOf(pageOf('docs/quick-start.md'));

/** The page without the one command that this gate has run itself, before this test: it makes dist/. */
function pageOf(file: string): string {
  const page = readFileSync(join(ROOT, file), 'utf8');
  expect(page).toContain(BUILD);
  return page.replace(BUILD, '');
}

/** The part of the README that a newcomer types. */
function stepsOfReadme(): PageStep[] {
  const [, rest = ''] = pageOf('README.md').split('\n## Quick start\n');
  const [part = ''] = rest.split('\n## ');
  return stepsOf(part);
}

function withoutLine(step: PageStep): object {
  const { line: _, ...rest } = step;
  return rest;
}

describe('the quick start', () => {
  test('of the README is the beginning of the page: what is run of the one is run of the other', () => {
    const short = stepsOfReadme().map(withoutLine);
    expect(short.length).toBeGreaterThan(12);
    expect(short).toEqual(quickStart.slice(0, short.length).map(withoutLine));
  });

  test('leads from a clone to a replayed dead letter, command by command, in a fresh folder with the packed package [S1.13]', async () => {
    const folder = planted({});
    const clone = join(folder, 'holdfast');
    mkdirSync(clone);
    const packed = ['package.json', 'README.md', 'LICENSE', 'dist', 'docs'];
    for (const name of packed) cpSync(join(ROOT, name), join(clone, name), { recursive: true });
    const reader = new Reader(clone, planted({}));
    let done = 0;
    for (const step of quickStart) {
      await reader.do(step).catch((error: unknown) => {
        throw new Error(`line ${step.line} of the page: ${(error as Error).message}`, { cause: error });
      });
      done += 1;
    }
    expect(done).toBe(quickStart.length);
  });
});
