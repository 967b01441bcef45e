import { cpus } from 'node:os';
import { benchBrokers } from './brokers/bench-brokers.ts';
import { benchDelivery } from './delivery/bench-delivery.ts';
import { benchEngine } from './engine/bench-engine.ts';
import { benchIdempotency } from './idempotency/bench-idempotency.ts';
import { benchOperate } from './operate/bench-operate.ts';
import { happyPath, happyPathBounded, heapAfterAMillion, oneRetry } from './retry.ts';
import type { Result } from './measure.ts';

if (process.argv[2] === 'brokers') process.exit(await benchBrokers(process.argv.slice(3)));
if (process.argv[2] === 'delivery') process.exit(await benchDelivery(process.argv.slice(3)));
if (process.argv[2] === 'engine') process.exit(await benchEngine(process.argv.slice(3)));
if (process.argv[2] === 'idempotency') process.exit(await benchIdempotency(process.argv.slice(3)));
if (process.argv[2] === 'operate') process.exit(await benchOperate(process.argv.slice(3)));

// Timing lives here and never in a test: ratios against peers measured in the same run, on whatever machine this is.
console.log(`Node ${process.version}, ${cpus().length} cores: ${cpus()[0]?.model ?? 'unknown'}`);

// Without a third member it is told and not judged.
const goals: [topic: string, text: string, reached?: boolean][] = [];
const cost = (results: readonly Result[], start: string): number =>
  results.find((result) => result.name.startsWith(start))?.nsPerCall ?? Number.NaN;

const happy = await happyPath();
const fastestPeer = Math.min(...happy.slice(1).map((result) => result.nsPerCall));
const toFastest = cost(happy, 'holdfast') / fastestPeer;
goals.push(['no timeout', `${toFastest.toFixed(2)} × the cost of the fastest peer (goal: at most 1)`, toFastest <= 1]);

const bounded = await happyPathBounded();
const toCockatiel = cost(bounded, 'cockatiel') / cost(bounded, 'holdfast, default (10 s timeout), signal used');
goals.push([
  'bounded',
  `${toCockatiel.toFixed(1)} × cheaper than cockatiel's retry + timeout (goal: at least 5)`,
  toCockatiel >= 5,
]);

const retried = await oneRetry();
const isOurs = (result: Result): boolean => result.name.startsWith('holdfast');
const fastestRetry = Math.min(...retried.filter((result) => !isOurs(result)).map((result) => result.nsPerCall));
const retryToFastest = cost(retried, 'holdfast, no timeout') / fastestRetry;
goals.push(['one retry', `${retryToFastest.toFixed(2)} × the cost of the fastest peer (no goal)`]);

const grownBytes = await heapAfterAMillion();
goals.push([
  'memory',
  `heap ${Math.abs(grownBytes / 1024).toFixed(0)} KiB ${grownBytes < 0 ? 'smaller' : 'larger'} after a million calls (goal: less than 256 larger)`,
  grownBytes < 256 * 1024,
]);

console.log('\ngoals');
for (const [topic, text, reached] of goals) {
  const verdict = reached === undefined ? 'info' : reached ? 'reached' : 'MISSED';
  console.log(`  ${verdict.padEnd(7)}  ${topic.padEnd(10)}  ${text}`);
}
if (goals.some(([, , reached]) => reached === false)) process.exitCode = 1;
