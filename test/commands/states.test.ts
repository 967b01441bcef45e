import { expect } from 'vitest';
import { canMove, COMMAND_STATES, type CommandState } from '../../src/commands/index.ts';
import { needs } from '../support/needs.ts';
import { commandService } from './runs.ts';

const test = needs('postgres');

// The shortest way to each state.
const WAYS: Readonly<Record<CommandState, readonly CommandState[]>> = {
  idle: [],
  queued: ['queued'],
  running: ['queued', 'running'],
  retry_wait: ['queued', 'running', 'retry_wait'],
  done: ['queued', 'running', 'done'],
  blocked: ['queued', 'running', 'blocked'],
  dlq: ['queued', 'running', 'dlq'],
  replaying: ['queued', 'running', 'dlq', 'replaying'],
};

test('the database takes a step of a command if the table has it and refuses all others, whoever writes [S0.7]', async ({
  postgres,
}) => {
  const { pool, schema, column } = await commandService(postgres);
  const tx = await pool.connect();
  const move = (to: CommandState): Promise<unknown> =>
    tx.query(`update "${schema}".command set state = $1::text, done_at = case when $1::text = 'done' then now() end`, [
      to,
    ]);
  const make = `insert into "${schema}".command (id, service, name, target, module, idempotency_key, state, on_exhausted,
    request_hash, keep_ms) values (gen_random_uuid(), 's', 'n', 't', 'm', 'k', $1, 'dlq', '', 1000)`;
  const outcomes = new Map<string, string>();
  try {
    await tx.query('begin');
    for (const from of COMMAND_STATES) {
      await tx.query(make, ['idle']);
      for (const step of WAYS[from]) await move(step);
      for (const to of COMMAND_STATES) {
        await tx.query('savepoint one');
        const outcome = await move(to).then(
          () => 'taken',
          ({ code, message }: Error & { code?: string }) => `${code} ${message}`,
        );
        outcomes.set(`${from}→${to}`, outcome);
        await tx.query('rollback to one');
      }
      await tx.query(`delete from "${schema}".command`);
    }
    for (const state of COMMAND_STATES) {
      await tx.query('savepoint one');
      const isTaken = await tx.query(make, [state]).then(
        () => true,
        () => false,
      );
      expect({ state, isTaken }).toEqual({ state, isTaken: state === 'idle' || state === 'queued' });
      await tx.query('rollback to one');
    }
  } finally {
    await tx.query('rollback');
    tx.release();
  }
  expect(outcomes.size).toBe(64);
  for (const from of COMMAND_STATES) {
    for (const to of COMMAND_STATES) {
      const refused = `23514 a command cannot go from ${from} to ${to}`;
      expect({ from, to, outcome: outcomes.get(`${from}→${to}`) }).toEqual({
        from,
        to,
        outcome: canMove(from, to) ? 'taken' : refused,
      });
    }
  }
  expect(await column('select count(*)::int from $.command_event')).toEqual([0]);
});
