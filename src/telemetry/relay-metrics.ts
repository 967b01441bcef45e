import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import { systemEffects } from '../system/effects.ts';
import { METRICS } from './metric-catalog.ts';
import { type MetricsPage, metricsPage } from './metrics-page.ts';
import { PrometheusText } from './prometheus-text.ts';
import { RelayRecorder } from './record-relay.ts';

/** What `relayMetrics` and `meterRelay` take. Every field may be left out. */
export interface RelayMetricsOptions {
  /** Counts of the outbox older than this are no longer shown. Default 60 s; they are made every 5 s. */
  readonly sampleMaxAgeMs?: number | undefined;
  /** Clock; for tests. */
  readonly effects?: Effects | undefined;
}

export const SAMPLE_MAX_AGE_MS = 60_000;

/** Counts what a relay does, and shows it to Prometheus. The functions may be passed on by themselves. */
export interface RelayMetrics extends MetricsPage {
  readonly observe: RelayObserver;
}

/** Throws `INVALID_OPTIONS` with all that is wrong. */
export function checkMetricsOptions(of: string, options: RelayMetricsOptions): void {
  const check = new OptionCheck(of);
  if (check.object('options', options, 'pass an object, or leave it out')) {
    check.known(options, ['sampleMaxAgeMs', 'effects']);
    const { sampleMaxAgeMs } = options;
    if (sampleMaxAgeMs !== undefined) {
      check.number('sampleMaxAgeMs', sampleMaxAgeMs, { min: 0, max: Infinity, write: 'write milliseconds from 0 on' });
    }
  }
  check.done();
}

/** Metrics of the relay of this process, by the names of docs/telemetry.md. */
export function relayMetrics(options: RelayMetricsOptions = {}): RelayMetrics {
  checkMetricsOptions('relayMetrics()', options);
  const { sampleMaxAgeMs = SAMPLE_MAX_AGE_MS, effects = systemEffects } = options;
  const sink = new PrometheusText(METRICS);
  const recorder = new RelayRecorder(sink, effects, sampleMaxAgeMs);
  const text = (): string => {
    recorder.expire();
    return sink.text();
  };
  return { observe: (event) => recorder.observe(event), ...metricsPage(text) };
}
