import { expect, test } from 'vitest';
import { answerOf, keepAnswer } from './error-answer.ts';

test('the answer is found behind wrappers, and is no part of the error [S0.5]', () => {
  const error = keepAnswer(new Error('no'), { status: 503, headers: new Headers(), text: 'x'.repeat(20_000) });
  expect(answerOf(new Error('outer', { cause: new Error('middle', { cause: error }) }))).toMatchObject({ status: 503 });
  expect(answerOf(error)?.text).toHaveLength(16_384);
  expect(new Set(Reflect.ownKeys(error))).toEqual(new Set(['message', 'stack']));
});

test('an error without an answer, a cycle and things that are no errors give undefined [S0.5]', () => {
  const cyclic = new Error('a');
  cyclic.cause = cyclic;
  for (const value of [new Error('no'), cyclic, undefined, 'text', { cause: 1 }])
    expect(answerOf(value)).toBeUndefined();
});
