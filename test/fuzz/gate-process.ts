import { BlockCoverage } from './block-coverage.ts';
import { readCorpus } from './corpus.ts';
import { fuzz } from './fuzz-loop.ts';
import { plantedParser, squareParser } from './planted-parser.ts';
import { stepsByLength } from './steps-by-length.ts';
import type { FuzzTarget } from './target.ts';
import { TARGETS } from './targets/index.ts';

/** What the process prints: one line of JSON for each target, and one for what was planted. */
export interface GateLine {
  readonly name: string;
  readonly runs: number;
  readonly reached: number;
  readonly failure: string | undefined;
  /** The word of which four times as many took most steps more, and how many times as many. */
  readonly growth: { readonly word: string; readonly growth: number };
}

// At least so many runs, and for so long, of each target of one part of all.
const [runs = '0', words = '0', forMs = '0', part = '0', parts = '1'] = process.argv.slice(2);
const planted: FuzzTarget = { name: 'planted', seeds: ['abc'], words: ['ab'], check: plantedParser };
// The same texts, and nobody who tells what they reach.
const blind = { take: () => Promise.resolve({ covered: new Map<string, Uint8Array>(), steps: 0 }) };

function tell(line: GateLine): void {
  console.log(JSON.stringify(line));
}

async function judge(target: FuzzTarget, coverage: BlockCoverage, leastRuns: number, leastMs = 0): Promise<GateLine> {
  const endMs = performance.now() + leastMs;
  const limits = { seed: 2026, isOver: (done: number) => done >= leastRuns && performance.now() >= endMs };
  const { failure, ...report } = await fuzz(target, readCorpus(target.name), coverage, limits);
  const [growth = { word: '', growth: 0 }] = failure
    ? []
    : [...(await stepsByLength(target, Number(words), coverage))].sort((a, b) => b.growth - a.growth);
  const told = failure && `${JSON.stringify(failure.input)}: ${String(failure.error)}`;
  return { name: target.name, runs: report.runs, reached: report.reached, failure: told, growth };
}

const coverage = new BlockCoverage();
await coverage.start();
for (const [i, target] of TARGETS.entries())
  if (i % Number(parts) === Number(part)) tell(await judge(target, coverage, Number(runs), Number(forMs)));
await coverage.stop();
if (part !== '0') process.exit();
const ofPlanted = new BlockCoverage(/planted-parser/);
await ofPlanted.start();
const found = await judge(planted, ofPlanted, 60_000);
tell(found);
tell(await judge({ ...planted, name: 'square', check: squareParser }, ofPlanted, 0));
await ofPlanted.stop();
const limits = { seed: 2026, isOver: (done: number) => done >= found.runs };
const unseen = await fuzz(planted, [], blind, limits);
tell({ ...found, name: 'blind', failure: unseen.failure?.input });
