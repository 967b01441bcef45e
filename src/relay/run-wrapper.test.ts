import { expect, test } from 'vitest';
import { type RunAbout, runWrapped, type RunWrapper } from './run-wrapper.ts';

const about = { handler: 'h', attempt: 1 } as RunAbout;

test.each<[string, RunWrapper | undefined]>([
  ['is not there', undefined],
  ['does as it should', (_, run) => run()],
  ['takes its time first', async (_, run) => Promise.resolve().then(() => run())],
  ['forgets to call', () => undefined],
  ['calls twice', async (_, run) => [await run(), await run()]],
  [
    'throws before',
    () => {
      throw new Error('before');
    },
  ],
  [
    'throws after',
    async (_, run) => {
      await run();
      throw new Error('after');
    },
  ],
  [
    'gives something else',
    async (_, run) => {
      await run();
      return 'else';
    },
  ],
])('a handler is called once and its result counts when its wrapper %s', async (_, wrap) => {
  let calls = 0;
  await expect(runWrapped(wrap, about, async () => ++calls)).resolves.toBe(1);
  expect(calls).toBe(1);
});

test.each<[string, RunWrapper | undefined]>([
  ['is not there', undefined],
  ['does as it should', (_, run) => run()],
  ['swallows it', async (_, run) => run().catch(() => 'fine')],
  ['does not look', (_, run) => void run()],
])('a failure comes out when the wrapper %s', async (_, wrap) => {
  const failure = new Error('no');
  await expect(runWrapped(wrap, about, () => Promise.reject(failure))).rejects.toBe(failure);
});
