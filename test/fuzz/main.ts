import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/cli/duration.ts';
import { BlockCoverage } from './block-coverage.ts';
import { keepInCorpus, readCorpus } from './corpus.ts';
import { fuzz } from './fuzz-loop.ts';
import { TARGETS } from './targets/index.ts';

// npm run fuzz                                every target for ten seconds
// npm run fuzz -- cron redis-entry --for 10m  these, for ten minutes each
// npm run fuzz -- cron --seed 7               with other texts
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { for: { type: 'string', default: '10s' }, seed: { type: 'string', default: String(Date.now() % 1e6) } },
});
const forMs = parseDuration(values.for);
const unknown = positionals.find((name) => TARGETS.every((target) => target.name !== name));
if (forMs === undefined || unknown !== undefined) {
  console.error(
    `${unknown ?? values.for} is not known; targets: ${TARGETS.map(({ name }) => name).join(', ')}; --for 10m`,
  );
  process.exit(2);
}
const coverage = new BlockCoverage();
await coverage.start();
for (const target of TARGETS) {
  if (positionals.length > 0 && !positionals.includes(target.name)) continue;
  const endMs = performance.now() + forMs;
  const limits = { seed: Number(values.seed), isOver: () => performance.now() > endMs };
  const report = await fuzz(target, readCorpus(target.name), coverage, limits);
  const { runs, reached, found, failure } = report;
  keepInCorpus(target.name, failure ? [...found, failure.input] : found);
  console.log(
    `${target.name}: ${runs} runs, ${reached} characters reached, ${found.length} new inputs, seed ${values.seed}`,
  );
  if (!failure) continue;
  process.exitCode = 1;
  console.error(`  fails for ${JSON.stringify(failure.input)}:`, failure.error);
}
await coverage.stop();
