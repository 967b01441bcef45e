import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

test('jobs run one after the other in the order they came, and one that fails holds up none', async () => {
  const turns = new Turns();
  const log: string[] = [];
  const job =
    (name: string, fails = false) =>
    async (): Promise<string> => {
      log.push(`${name} begins`);
      await Promise.resolve();
      log.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const results = await Promise.allSettled([turns.run(job('a')), turns.run(job('b', true)), turns.run(job('c'))]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
});
