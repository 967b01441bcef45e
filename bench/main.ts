import { cpus } from 'node:os';
import { happyPath, happyPathBounded, heapAfterAMillion, oneRetry } from './retry.ts';
import type { Result } from './measure.ts';

// Timing lives here and never in a test: ratios against peers measured in the same run, on whatever machine this is.
console.log(`Node ${process.version}, ${cpus().length} cores: ${cpus()[0]?.model ?? 'unknown'}`);

const goals: [text: string, reached: boolean][] = [];
const cost = (results: readonly Result[], start: string): number =>
  results.find((result) => result.name.startsWith(start))?.nsPerCall ?? Number.NaN;

const happy = await happyPath();
const fastestPeer = Math.min(...happy.slice(1).map((result) => result.nsPerCall));
const toFastest = cost(happy, 'holdfast') / fastestPeer;
goals.push([`no timeout: ${toFastest.toFixed(2)} × the fastest peer (goal: at most 1)`, toFastest <= 1]);

const bounded = await happyPathBounded();
const toCockatiel = cost(bounded, 'cockatiel') / cost(bounded, 'holdfast, default (10 s timeout), signal used');
goals.push([
  `bounded: ${toCockatiel.toFixed(1)} × cheaper than cockatiel's retry + timeout (goal: at least 5)`,
  toCockatiel >= 5,
]);

await oneRetry();

const grownBytes = await heapAfterAMillion();
goals.push([
  `memory: ${(grownBytes / 1024).toFixed(0)} KiB more heap after a million calls (goal: under 256)`,
  grownBytes < 256 * 1024,
]);

console.log('\ngoals');
for (const [text, reached] of goals) console.log(`  ${reached ? 'reached' : 'MISSED '}  ${text}`);
if (goals.some(([, reached]) => !reached)) process.exitCode = 1;
