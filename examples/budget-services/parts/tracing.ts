import { context, propagation, trace, type Tracer } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

// Soon enough for somebody who looks at a trace right after the request.
const EXPORT_MS = 250;

/** OpenTelemetry in one process. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what is left. */
  stop(): Promise<void>;
}

/** Turns tracing on: spans go to `OTEL_EXPORTER_OTLP_ENDPOINT`, by default to localhost:4318. */
export function startTracing(process: string): Tracing {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': process }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter(), { scheduledDelayMillis: EXPORT_MS })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return { tracer: trace.getTracer('budget-services'), stop: () => provider.shutdown() };
}
