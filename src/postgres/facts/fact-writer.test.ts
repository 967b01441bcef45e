import { expect, test } from 'vitest';
import { systemEffects } from '../../system/effects.ts';
import type { Link } from '../driver/driver.ts';
import { factLine } from './fact-line.ts';
import { FactWriter } from './fact-writer.ts';

/** Adds a second fact so many steps of the microtask queue after the first one was written, and waits until both are kept. */
async function keepSecondAfter(steps: number): Promise<void> {
  const about = { service: 'shop', kind: 'note', isOk: undefined, atMs: 0 } as const;
  let writes = 0;
  const addLater = async (): Promise<void> => {
    for (let step = 0; step < steps; step += 1) await Promise.resolve();
    writer.add(factLine(about, {}));
  };
  const link = {
    query: async (text: string) => {
      if (text.includes('insert') && (writes += 1) === 1) void addLater();
      return [['0']];
    },
    close: async () => undefined,
  } as unknown as Link;
  const writer = new FactWriter({ link, schema: '"s"', maxWaiting: 10, onLost: undefined, effects: systemEffects });
  writer.add(factLine(about, {}));
  await expect.poll(() => writer.counts.kept, { timeout: 4_000 }).toBe(2);
  await writer.stop(100);
}

test('a fact that comes just as the last one was written is written too, and does not wait for the next [X.7]', async () => {
  const steps = Array.from({ length: 16 }, (_, at) => at);
  await expect(Promise.all(steps.map(keepSecondAfter))).resolves.toHaveLength(steps.length);
});
