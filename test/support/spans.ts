import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll } from 'vitest';

/**
 * Registers the real OpenTelemetry API and SDK for the tests of this file. What it gives runs work in a span and answers
 * with what was exported.
 */
export function realTracing(): (work: () => Promise<unknown>) => Promise<ReadableSpan> {
  const exporter = registered();
  return async (work) => {
    exporter.reset();
    await trace.getTracer('test').startActiveSpan('outer', async (span) => {
      await work();
      span.end();
    });
    const [span] = exporter.getFinishedSpans();
    if (!span) throw new Error('no span was exported');
    return span;
  };
}

/** The same, without a span around anything: what it gives answers with the spans that have ended since it was asked last. */
export function tracedSpans(): () => readonly ReadableSpan[] {
  const exporter = registered();
  return () => {
    const spans = exporter.getFinishedSpans();
    exporter.reset();
    return [...spans];
  };
}

function registered(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(provider);
  });
  afterAll(async () => {
    trace.disable();
    context.disable();
    await provider.shutdown();
  });
  return exporter;
}
