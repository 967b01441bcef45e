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
  ['is done later', async (_, run) => run()],
  ['calls twice', (_, run) => [run(), run()]],
  [
    'throws before',
    () => {
      throw new Error('before');
    },
  ],
])('what ends at once does so without a promise when its wrapper %s', (_, wrap) => {
  let calls = 0;
  expect(runWrapped(wrap, about, () => ++calls)).toBe(1);
  const failure = new Error('no');
  expect(() =>
    runWrapped(wrap, about, () => {
      throw failure;
    }),
  ).toThrow(failure);
});

test('the result is there before a wrapper that goes on and on', async () => {
  const forever = async (_: RunAbout, run: () => unknown): Promise<void> => {
    await Promise.resolve();
    await run();
    await new Promise(() => undefined);
  };
  await expect(runWrapped(forever, about, async () => 1)).resolves.toBe(1);
});

test.each<[string, RunWrapper | undefined]>([
  ['is not there', undefined],
  ['does as it should', (_, run) => run()],
  ['swallows it', async (_, run) => Promise.resolve(run()).catch(() => 'fine')],
  ['does not look', (_, run) => void run()],
])('a failure comes out when the wrapper %s', async (_, wrap) => {
  const failure = new Error('no');
  await expect(runWrapped(wrap, about, () => Promise.reject(failure))).rejects.toBe(failure);
});
