import { trace } from '@opentelemetry/api';
import type { RelayObserver, RunWrapper } from 'holdfast';
import { logRelay, traceRelay } from 'holdfast/telemetry';
import { serviceLog } from './service-log.ts';
import type { ServiceMetrics } from './service-metrics.ts';
import type { ServiceName, Settings } from './settings.ts';

const LEASE_MS = 10_000;
const SHORTEST_LEASE_MS = 3_000;

/** What a relay on either database is started with. */
export interface RelayOptions {
  readonly observers: readonly RelayObserver[];
  readonly wrapRun: RunWrapper;
  readonly leaseMs: number;
}

/** How the relay of a service is started: with metrics, traces and log lines. */
export function relayOptions(service: ServiceName, { speed }: Settings, metrics: ServiceMetrics): RelayOptions {
  const traces = traceRelay(trace.getTracer('holdfast'));
  return {
    observers: [metrics.relay.observe, traces.observe, logRelay(serviceLog(service))],
    wrapRun: traces.wrapRun,
    // How long the work of a process that was killed waits for another.
    leaseMs: Math.max(SHORTEST_LEASE_MS, Math.round(LEASE_MS / speed)),
  };
}
