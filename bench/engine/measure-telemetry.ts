import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  TraceIdRatioBasedSampler,
  type Sampler,
} from '@opentelemetry/sdk-trace-base';
import { jsonLogger, type StartOptions } from 'holdfast';
import { logRelay, relayMetrics, traceRelay } from 'holdfast/telemetry';
import { judge } from '../result/judge.ts';
import type { Result } from '../result/result.ts';
import type { Bench } from './bench.ts';
import { holdfastQueue } from './holdfast-queue.ts';
import { compete, fillThenDrain } from './measure-drain.ts';
import type { Work } from './queue.ts';

const SILENT = 'holdfast, silent';
const METERED = 'metrics and log lines';
const SAMPLED = 'metrics, lines and spans of 1 %';
const TRACED = 'metrics, lines and spans of all';

/**
 * What it costs to tell: metrics and log lines, and spans of one message in a hundred, or of all. A handler that does nothing ends without
 * a promise, inside a span too, but a span of the SDK alone takes 1.5 to 2.5 µs. So spans are also measured over messages with an effect.
 */
export async function telemetry(bench: Bench): Promise<Result[]> {
  const [many, fewer] = bench.isQuick ? [4_000, 1_000] : [60_000, 20_000];
  return [
    ...(await toldOver(bench, 'nothing', many, new Set([METERED]))),
    ...(await toldOver(bench, 'effect', fewer, new Set([METERED, SAMPLED, TRACED]))),
  ];
}

async function toldOver(bench: Bench, work: Work, count: number, withGoal: ReadonlySet<string>): Promise<Result[]> {
  const ways = new Map<string, StartOptions>([
    [SILENT, {}],
    [METERED, { observers: observers() }],
    [SAMPLED, traced(new TraceIdRatioBasedSampler(0.01))],
    [TRACED, traced(new AlwaysOnSampler())],
  ]);
  const makers = [...ways].map(
    ([name, start]) =>
      (database: Bench['database']) =>
        holdfastQueue(database, { name, role: name === SILENT ? 'usual' : 'ours', start }),
  );
  const contestants = await compete(bench, fillThenDrain(work, count), makers);
  const usual = contestants.filter(({ role }) => role === 'usual');
  const told = contestants.filter(({ role }) => role === 'ours');
  const what = work === 'nothing' ? 'messages that do nothing' : 'messages with an insert each';
  return told.map((ours) => ({
    id: `telemetry.${work}.${ours.name.replaceAll(' ', '-')}`,
    measure: `drain of ${count.toLocaleString('en')} ${what}: ${ours.name}, against nobody told`,
    contestants: [ours, ...usual],
    verdicts: [judge(ours, usual, withGoal.has(ours.name) ? 0.9 : undefined)],
  }));
}

function observers(): NonNullable<StartOptions['observers']> {
  // As a service has it: lines from info on, to somewhere that takes them at once.
  return [
    relayMetrics().observe,
    logRelay({ ...jsonLogger(() => undefined), debug: () => undefined, isLevelEnabled: (level) => level !== 'debug' }),
  ];
}

function traced(sampler: Sampler): StartOptions {
  const exporter = {
    export: (_spans: unknown, done: (result: { code: 0 }) => void) => done({ code: 0 }),
    shutdown: async () => undefined,
  };
  const provider = new BasicTracerProvider({ sampler, spanProcessors: [new BatchSpanProcessor(exporter)] });
  const { observe, wrapRun } = traceRelay(provider.getTracer('holdfast'));
  return { observers: [...observers(), observe], wrapRun };
}
