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

const [runs = '0', words = '0'] = process.argv.slice(2);
const planted: FuzzTarget = { name: 'planted', seeds: ['abc'], words: ['ab'], check: plantedParser };
// The same texts, and nobody who tells what they reach.
const blind = { take: () => Promise.resolve({ covered: new Map<string, Uint8Array>(), steps: 0 }) };

function tell(line: GateLine): void {
  console.log(JSON.stringify(line));
}

async function judge(target: FuzzTarget, coverage: BlockCoverage, mostRuns: number): Promise<GateLine> {
  const limits = { seed: 2026, isOver: (done: number) => done >= mostRuns };
  const { failure, ...report } = await fuzz(target, readCorpus(target.name), coverage, limits);
  const [growth = { word: '', growth: 0 }] = failure
    ? []
    : [...(await stepsByLength(target, Number(words), coverage))].sort((a, b) => b.growth - a.growth);
  const told = failure && `${JSON.stringify(failure.input)}: ${String(failure.error)}`;
  return { name: target.name, runs: report.runs, reached: report.reached, failure: told, growth };
}

const coverage = new BlockCoverage();
await coverage.start();
for (const target of TARGETS) tell(await judge(target, coverage, Number(runs)));
await coverage.stop();
const ofPlanted = new BlockCoverage(/planted-parser/);
await ofPlanted.start();
const found = await judge(planted, ofPlanted, 60_000);
tell(found);
tell(await judge({ ...planted, name: 'square', check: squareParser }, ofPlanted, 0));
await ofPlanted.stop();
const limits = { seed: 2026, isOver: (done: number) => done >= found.runs };
const unseen = await fuzz(planted, [], blind, limits);
tell({ ...found, name: 'blind', failure: unseen.failure?.input });
