import { describe, expect, test } from 'vitest';
import { nearest, OptionCheck } from './check-options.ts';

describe('OptionCheck', () => {
  test('reports every problem in one error', () => {
    const check = new OptionCheck('thing()');
    check.number('a', -1, { min: 0, write: 'write 0 or more' });
    check.number('b', 1.5, { min: 0, integer: true, write: 'write a whole number' });
    check.known({ c: 1 }, ['a', 'b']);
    expect(() => check.done()).toThrow(
      'thing() cannot work as written: a is -1; write 0 or more · b is 1.5; write a whole number · c is not an option; did you mean a?',
    );
  });

  test('shows the length of a string, never its text: it may be a secret', () => {
    const check = new OptionCheck('thing()');
    check.refuse('token', 'hunter2', 'write nothing');
    expect(() => check.done()).toThrow('token is a string of 7 characters');
  });

  test('shows a name that was written in the code, which is no secret', () => {
    const check = new OptionCheck('thing()');
    check.refuseName('handlers', 'chargecard', 'write charge-card');
    check.refuseName('handlers', 7, 'write a name');
    expect(() => check.done()).toThrow('handlers is "chargecard"; write charge-card · handlers is 7; write a name');
  });

  test('tells an object of another kind from misspelt options', () => {
    const check = new OptionCheck('thing()');
    check.known({ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 }, ['pool', 'schema']);
    expect(() => check.done()).toThrow(
      'options is an object with 6 fields that are no options; known are pool, schema',
    );
  });

  test('passes when nothing is wrong', () => {
    const check = new OptionCheck('thing()');
    check.number('a', Infinity, { min: 1, max: Infinity, integer: true, write: '' });
    check.known({ a: 1 }, ['a']);
    expect(() => check.done()).not.toThrow();
  });
});

test('nearest finds a word within two edits, or one that it is a part of, and nothing further away', () => {
  expect(nearest('timeoutms', ['timeoutMs', 'jitter'])).toBe('timeoutMs');
  expect(nearest('jiter', ['timeoutMs', 'jitter'])).toBe('jitter');
  expect(nearest('colour', ['timeoutMs', 'jitter'])).toBeUndefined();
  expect(nearest('attempts', ['timeoutMs', 'maxAttempts'])).toBe('maxAttempts');
});
