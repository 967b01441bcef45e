import type { IdempotencyObserver } from '../idempotency/idempotency-event.ts';
import { IDEMPOTENCY_METRICS } from './idempotency-catalog.ts';
import { type MeterLike, MeterSink } from './meter-sink.ts';
import { type MetricsPage, metricsPage } from './metrics-page.ts';
import { PrometheusText } from './prometheus-text.ts';
import { IdempotencyRecorder } from './record-idempotency.ts';

/** Counts what idempotency does, and shows it to Prometheus. The functions may be passed on by themselves. */
export interface IdempotencyMetrics extends MetricsPage {
  readonly observe: IdempotencyObserver;
}

/** Metrics of idempotency in this process, by the names of docs/telemetry.md. */
export function idempotencyMetrics(): IdempotencyMetrics {
  const sink = new PrometheusText(IDEMPOTENCY_METRICS);
  const recorder = new IdempotencyRecorder(sink);
  return { observe: (event) => recorder.observe(event), ...metricsPage(() => sink.text()) };
}

/**
 * Records what idempotency does to an OpenTelemetry meter, under the names `idempotencyMetrics` uses. Call it once for a meter: the
 * same instruments made twice are exported twice.
 */
export function meterIdempotency(meter: MeterLike): IdempotencyObserver {
  const recorder = new IdempotencyRecorder(new MeterSink(meter, IDEMPOTENCY_METRICS));
  return (event) => recorder.observe(event);
}
