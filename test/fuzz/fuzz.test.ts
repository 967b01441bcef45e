import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { runProgram } from '../../scripts/run-tool.ts';
import { amount } from '../support/amount.ts';
import type { GateLine } from './gate-process.ts';
import { TARGETS } from './targets/index.ts';

const PROGRAM = fileURLToPath(new URL('gate-process.ts', import.meta.url));
const PLANTED = ['planted', 'square', 'blind'];
/** Of an input that is four times as long: somewhat more than four times the steps. */
const MOST_GROWTH = 6;

/** Of each parser, in the full run; two processes share them, or it took an hour. */
const FOR_MS_IN_FULL = 60_000;
const PARTS_IN_FULL = 2;

describe('parsers of what others wrote', () => {
  const lines = new Map<string, GateLine>();
  const parsers = (): GateLine[] => [...lines.values()].filter(({ name }) => !PLANTED.includes(name));

  // A process of its own: where the code of the test runner is counted too, counting takes ten times as long.
  beforeAll(async () => {
    const parts = amount(1, PARTS_IN_FULL);
    const each = [amount(300, 20_000), amount(2, 100), amount(0, FOR_MS_IN_FULL)].map(String);
    const ends = Array.from({ length: parts }, (_, part) =>
      runProgram([process.execPath, PROGRAM, ...each, `${part}`, `${parts}`]),
    );
    for (const { ok, output } of await Promise.all(ends)) {
      expect(ok, output).toBe(true);
      for (const text of output.trim().split('\n')) {
        const line = JSON.parse(text) as GateLine;
        lines.set(line.name, line);
      }
    }
  });

  test('read or refuse in their own words whatever they are given, and keep what they read', () => {
    expect(parsers().filter(({ failure }) => failure !== undefined)).toEqual([]);
    expect(parsers().map(({ name }) => name)).toEqual(expect.arrayContaining(TARGETS.map(({ name }) => name)));
    expect(parsers().filter(({ reached }) => reached === 0)).toEqual([]);
  });

  test('take steps in proportion to the length', () => {
    expect(parsers().filter(({ growth }) => growth.growth > MOST_GROWTH)).toEqual([]);
    expect(lines.get('square')?.growth.growth).toBeGreaterThan(MOST_GROWTH);
  });

  test('are led by what was reached to faults that chance alone does not find', () => {
    expect(lines.get('planted')?.failure).toContain('kQ7');
    expect(lines.has('blind')).toBe(true);
    expect(lines.get('blind')?.failure).toBeUndefined();
  });
});
