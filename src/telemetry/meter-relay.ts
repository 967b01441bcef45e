import type { RelayObserver } from '../relay/relay-event.ts';
import { systemEffects } from '../system/effects.ts';
import { type MeterLike, MeterSink } from './meter-sink.ts';
import { METRICS } from './metric-catalog.ts';
import { RelayRecorder } from './record-relay.ts';
import { checkMetricsOptions, type RelayMetricsOptions, SAMPLE_MAX_AGE_MS } from './relay-metrics.ts';

/**
 * Records what a relay does to an OpenTelemetry meter, under the names `relayMetrics` uses. Call it once for a meter: the same
 * instruments made twice are exported twice.
 */
export function meterRelay(meter: MeterLike, options: RelayMetricsOptions = {}): RelayObserver {
  checkMetricsOptions('meterRelay()', options);
  const { sampleMaxAgeMs = SAMPLE_MAX_AGE_MS, effects = systemEffects } = options;
  const sink = new MeterSink(meter, METRICS);
  const recorder = new RelayRecorder(sink, effects, sampleMaxAgeMs);
  sink.beforeRead = () => recorder.expire();
  return (event) => recorder.observe(event);
}
