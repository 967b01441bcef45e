import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  TraceIdRatioBasedSampler,
  type Sampler,
} from '@opentelemetry/sdk-trace-base';
import { jsonLogger, type StartOptions } from 'holdfast';
import { logRelay, relayMetrics, traceRelay } from 'holdfast/telemetry';
import { perSecond, type Bench, type Finding } from './finding.ts';
import { holdfastQueue } from './holdfast-queue.ts';
import { compete, fillThenDrain } from './measure-drain.ts';

const SILENT = 'holdfast, silent';
const ALL_TRACED = 'and spans of all';

/** What it costs to tell: metrics and log lines, and spans of one message in a hundred, or of all. */
export async function telemetry(bench: Bench): Promise<Finding[]> {
  const count = bench.isQuick ? 10_000 : 60_000;
  const ways = new Map<string, StartOptions>([
    [SILENT, {}],
    ['metrics and log lines', { observers: observers() }],
    ['and spans of 1 %', traced(new TraceIdRatioBasedSampler(0.01))],
    [ALL_TRACED, traced(new AlwaysOnSampler())],
  ]);
  const makers = [...ways].map(
    ([name, start]) =>
      (database: Bench['database']) =>
        holdfastQueue(database, { name, start }),
  );
  const rates = new Map(await compete(bench, fillThenDrain('nothing', count), makers));
  const silent = rates.get(SILENT) ?? Number.NaN;
  rates.delete(SILENT);
  return [...rates].map(([name, rate]): Finding => {
    const ratio = rate / silent;
    const told = { measure: `drain with ${name}`, ours: perSecond(rate), others: `silent ${perSecond(silent)}`, ratio };
    // A span of the SDK for each message costs as much as handling one that does nothing.
    return name === ALL_TRACED
      ? Object.assign(told, { goal: '' })
      : Object.assign(told, { goal: '≥ 90 %', isReached: ratio >= 0.9 });
  });
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
