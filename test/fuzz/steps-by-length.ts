import type { BlockCoverage } from './block-coverage.ts';
import type { FuzzTarget } from './target.ts';

const SHORT = 400;
const TIMES = 4;

/** How many times as many steps a target takes for a text with four times as many of a word in it. */
export async function stepsByLength(
  target: FuzzTarget,
  mostWords: number,
  coverage: BlockCoverage,
): Promise<readonly { readonly word: string; readonly growth: number }[]> {
  const grown: { word: string; growth: number }[] = [];
  const [seed = ''] = target.seeds;
  const middle = Math.floor(seed.length / 2);
  for (const word of target.words.slice(0, mostWords)) {
    const steps = async (count: number): Promise<number> => {
      const text = seed.slice(0, middle) + word.repeat(count) + seed.slice(middle);
      // Once before: what is made at the first call only would be counted too.
      await target.check(text);
      await coverage.take();
      await target.check(text);
      return (await coverage.take()).steps;
    };
    const count = Math.ceil(SHORT / word.length);
    grown.push({ word, growth: (await steps(count * TIMES)) / Math.max(1, await steps(count)) });
  }
  return grown;
}
