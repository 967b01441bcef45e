import { expect, expectTypeOf, test } from 'vitest';
import { canMove, COMMAND_STATES, type NextState } from './command-state.ts';

test('a command moves only as the table says, ten of sixty-four ways, and never on the spot [S0.7]', () => {
  const legal = COMMAND_STATES.flatMap((from) =>
    COMMAND_STATES.filter((to) => canMove(from, to)).map((to) => `${from}→${to}`),
  );
  expect(legal.toSorted()).toEqual([
    'blocked→queued',
    'dlq→replaying',
    'idle→queued',
    'queued→running',
    'replaying→running',
    'retry_wait→running',
    'running→blocked',
    'running→dlq',
    'running→done',
    'running→retry_wait',
  ]);
  expectTypeOf<NextState<'running'>>().toEqualTypeOf<'done' | 'retry_wait' | 'blocked' | 'dlq'>();
  expectTypeOf<NextState<'done'>>().toEqualTypeOf<never>();
});
