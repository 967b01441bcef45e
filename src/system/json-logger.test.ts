import { expect, test } from 'vitest';
import { jsonLogger } from './json-logger.ts';

function lineOf(fields: Record<string, unknown>): Record<string, unknown> {
  const lines: string[] = [];
  jsonLogger((line) => lines.push(line)).warn(fields, 'attempt failed');
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}

test('a line is one JSON object with time, level, message and the fields', () => {
  expect(lineOf({ operation: 'charge', attempt: 2 })).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    level: 'warn',
    message: 'attempt failed',
    operation: 'charge',
    attempt: 2,
  });
});

test('a field that cannot be written is left out, the others stay', () => {
  const round: Record<string, unknown> = {};
  round['self'] = round;
  const line = lineOf({ round, big: 1n, tags: ['a'], attempt: 2 });
  expect(line).toMatchObject({ tags: ['a'], attempt: 2 });
  expect(Object.keys(line)).not.toContain('round');
  expect(Object.keys(line)).not.toContain('big');
});

test('fields cannot replace what the line itself says', () => {
  expect(lineOf({ level: 'fatal', message: 'other' })).toMatchObject({ level: 'warn', message: 'attempt failed' });
});
