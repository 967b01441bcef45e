import { expect } from 'vitest';
import { event } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from './service.ts';

const test = needs('postgres');
const SLEEPERS = 'select worker::text from $.waiter';

test('a worker that sleeps says so again: a crash of the database empties the list of sleepers [S4.6]', async ({
  postgres,
}) => {
  const { hf, start, column } = await testService(postgres);
  hf.on(event('order.placed'), 'note', () => undefined);
  const relay = await start({ pollMs: 100 });
  await expect.poll(() => column(SLEEPERS)).toEqual([relay.workerId]);
  await column('truncate $.waiter');
  await expect.poll(() => column(SLEEPERS)).toEqual([relay.workerId]);
});

test('a worker that was taken for dead can be woken under its new name [S4.6]', async ({ postgres }) => {
  const { hf, start, column } = await testService(postgres);
  hf.on(event('order.placed'), 'note', () => undefined);
  const relay = await start({ pollMs: 100 });
  const before = relay.workerId;
  await expect.poll(() => column(SLEEPERS)).toEqual([before]);
  await column(
    'with gone as (delete from $.worker returning id) delete from $.waiter where worker in (select id from gone)',
  );
  await expect.poll(() => relay.workerId).not.toBe(before);
  await expect.poll(() => column(SLEEPERS)).toEqual([relay.workerId]);
});
